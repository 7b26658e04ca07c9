"""Kernels from Python to lowered code, run thread by thread, against the CPU executor."""

import re
import subprocess
import sys

import numpy as np
import pytest
from simt import Machine
from tilec_cases.launches import launches, random_programs

from tilec.execute import execute

SEPARATOR = "// -----"
SHARED_BYTES = 200 * 1024
#: Sums in another order, and functions within their bounds.
RELATIVE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5}


def lowered(cases, target):
    """Take many kernels through all passes at once."""
    from tilec._mlir._mlir_libs import _tilec

    text = f"\n{SEPARATOR}\n".join(_tilec.print_module(case.bytecode()) for case in cases)
    passes = [f"--tilec-tilegpu=target={target}", "--convert-tilegpu-to-nvvm", "--cse"]
    command = [sys.executable, "-m", "tilec.opt", "-", "--split-input-file", "--tilec-tile"]
    done = subprocess.run([*command, *passes], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(SEPARATOR)


def parameters(arguments):
    """The kernel's parameters: pointer, extents and strides that are not 1; scalars."""
    for argument in arguments:
        if not isinstance(argument, np.ndarray):
            yield np.float32(argument) if isinstance(argument, float) else np.int32(argument)
            continue
        size = argument.itemsize
        yield argument.view(f"i{size}") if argument.dtype.kind == "u" else argument
        yield from argument.shape
        yield from (step // size for step in argument.strides if step != size)


def simulate(case, module):
    """Run every program of a launch; return the arguments afterwards."""
    from tilec._mlir import ir

    arguments = case.flat()
    threads = int(re.search(r"nvvm.reqntid = array<i32: (\d+)", module)[1])
    with ir.Context():
        parsed = ir.Module.parse(module)
        (function,) = (op for op in parsed.body.operations if op.operation.name == "llvm.func")
        for program in range(case.programs()):
            Machine(threads, SHARED_BYTES, program).run(function, list(parameters(arguments)))
    return arguments


def assert_close(found, expected):
    relative = RELATIVE.get(expected.dtype.name, 0.0)
    found, wide = found.astype(np.float64), expected.astype(np.float64)
    allowed = relative * np.abs(wide).max(initial=0.0)
    assert (np.abs(found - wide) <= allowed).all()


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_80 num-warps=12"])
def test_random_programs_agree_with_the_cpu_executor(rng, target):
    cases = random_programs(rng, 25)
    for case, module in zip(cases, lowered(cases, target), strict=True):
        expected = case.flat()
        execute(case.bytecode(), expected)
        np.testing.assert_array_equal(simulate(case, module)[0], expected[0], str(case))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_80 num-warps=12"])
def test_whole_kernels_agree_with_the_cpu_executor(rng, target):
    cases = launches(rng)
    for case, module in zip(cases, lowered(cases, target), strict=True):
        expected = case.flat()
        execute(case.bytecode(), expected)
        for found, array in zip(simulate(case, module), expected, strict=True):
            if isinstance(array, np.ndarray):
                assert_close(found, array)
