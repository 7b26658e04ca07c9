"""Runs kernels written in tilegpu through the lowering and then, thread by thread, on NumPy."""

import re
import subprocess
import sys

import numpy as np
import pytest
from simt import Machine
from views import view

SHARED_BYTES = 160 * 1024


def lower(source: str, *passes: str) -> str:
    """`tilec-opt` on a module's text."""
    command = [sys.executable, "-m", "tilec.opt", "-", *passes]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def simulate(lowered: str, values, threads: int, block: int = 0) -> Machine:
    """Runs the one kernel of a lowered module as CTA `block`."""
    from tilec._mlir import ir

    arguments = []
    for value in values:
        arguments.append(value)
        if isinstance(value, np.ndarray):
            strides = [stride // value.itemsize for stride in value.strides]
            arguments += [*value.shape, *(stride for stride in strides if stride != 1)]
    with ir.Context():
        module = ir.Module.parse(lowered)
        function = next(
            op for op in module.body.operations if "nvvm.kernel" in op.operation.attributes
        )
        machine = Machine(threads, SHARED_BYTES, block)
        machine.run(function, arguments)
    return machine


@pytest.fixture
def run_kernel():
    """Runs a body over arrays: %a0, %a1 … of types !v0, !v1 … The last one is written."""

    def run(body: str, arrays, elements, warps: int) -> Machine:
        accesses = ["read"] * (len(arrays) - 1) + ["unchecked"]
        views = list(map(view, arrays, elements, accesses))
        for number, text in enumerate(views):
            body = body.replace(f"!v{number}", text)
        formals = ", ".join(f"%a{number}: {text}" for number, text in enumerate(views))
        source = f"""
        module attributes {{tilegpu.target = #tilegpu.target<"sm_90a", {{features = []}}>}} {{
          tile.kernel @k({formals}) attributes {{
              tilegpu.num_warps = {warps} : i64, tilegpu.shared_bytes = {SHARED_BYTES} : i64}} {{
            %c0 = arith.constant 0 : index
            {body}
            tile.return
          }}
        }}"""
        return simulate(lower(source, "--convert-tilegpu-to-nvvm", "--cse"), arrays, warps * 32)

    return run


@pytest.fixture
def run_programs():
    """Takes a `tile` module through all passes and runs CTAs of its one kernel; gives them all."""

    def run(source: str, arguments, blocks=1, options="target=sm_80") -> list[Machine]:
        passes = (f"--tilec-tilegpu={options}", "--convert-tilegpu-to-nvvm", "--cse")
        lowered = lower(source, "--tilec-tile", *passes)
        threads = int(re.search(r"nvvm.reqntid = array<i32: (\d+)", lowered)[1])
        return [simulate(lowered, arguments, threads, block) for block in range(blocks)]

    return run


@pytest.fixture
def compile_and_run(run_programs):
    """Does the same, and gives the last."""

    def run(source: str, arguments, blocks=1, options="target=sm_80") -> Machine:
        return run_programs(source, arguments, blocks, options)[-1]

    return run
