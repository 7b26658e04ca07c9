"""Grouped kernels from Python to lowered code, run thread by thread on a table of problems."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from simt import Machine

import tilec as tl
from tilec.jit.job import CompileJob
from tilec.kernels.matmul import matmul_kernel
from tilec.kernels.softmax import softmax_kernel

SHARED_BYTES = 200 * 1024


@tl.kernel
def scaled(y, x, factor, flag):
    """One tile of a scaled array, negated if asked."""
    tile = x.load_like(y) * factor
    if flag:
        tile = -tile
    y.store(tile)


def lowered(kernel, problems, target, **constants):
    from tilec._mlir._mlir_libs import _tilec

    request = kernel.grouped.request(problems, target=target, **constants)
    text = _tilec.print_module(CompileJob(request).trace().bytecode)
    passes = ["--tilec-tile", f"--tilec-tilegpu=target={target}", "--convert-tilegpu-to-nvvm"]
    command = [sys.executable, "-m", "tilec.opt", "-", *passes, "--cse"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tiles_of(part):
    return int(
        np.prod([-(-n // t) for n, t in zip(part.array.shape, part.tile_shape, strict=True)])
    )


def write_row(row, plan, machine, arguments):
    """Put what other launches pass as parameters into a problem's row."""
    bare = [getattr(argument, "array", argument) for argument in arguments]
    addresses = [machine.place(a) if isinstance(a, np.ndarray) else None for a in bare]
    for parameter in plan["params"]:
        value, dtype = bare[parameter["arg"]], np.int64
        if parameter["kind"] == "pointer":
            value = addresses[parameter["arg"]]
        elif parameter["kind"] == "shape":
            value = value.shape[parameter["dim"]]
        elif parameter["kind"] == "stride":
            value = value.strides[parameter["dim"]] // value.itemsize
        else:
            dtype = {"f32": np.float32, "bool": np.bool_, "i32": np.int32}[parameter["dtype"]]
        cell = np.array([value], dtype).view(np.uint8)
        row[parameter["offset"] : parameter["offset"] + cell.size] = cell


def run(kernel, problems, target, **constants):
    """Run every program of a grouped launch on the lowered kernel."""
    from tilec._mlir import ir

    module = lowered(kernel, problems, target, **constants)
    threads = int(re.search(r"nvvm.reqntid = array<i32: (\d+)", module)[1])
    counts = [tiles_of(problem[0]) for problem in problems]
    starts = np.cumsum([0, *counts[:-1]]).astype(np.int32)
    with ir.Context():
        parsed = ir.Module.parse(module)
        plan = json.loads(parsed.operation.attributes["tilec.plan"].value)
        (function,) = (op for op in parsed.body.operations if op.operation.name == "llvm.func")
        for program in range(sum(counts)):
            machine = Machine(threads, SHARED_BYTES, program)
            rows = np.zeros((len(problems), plan["group"]["row_bytes"]), np.uint8)
            for row, problem in zip(rows, problems, strict=True):
                write_row(row, plan, machine, problem)
            scalars = [np.int32(len(problems)), np.int32(sum(counts))]
            machine.run(function, [rows, starts, *scalars])


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 16, 17, 65])
def test_programs_find_their_problem_among_any_number(rng, target, count):
    problems, expected = [], []
    for number in range(count):
        m, n = (int(extent) for extent in rng.integers(1, 40, 2))
        x, factor = rng.standard_normal((m, n)).astype(np.float32), float(rng.integers(1, 9))
        y = tl.partition(np.full((m, n), np.nan, np.float32), (16, 32))
        problems.append((y, x, factor, number % 3 == 0))
        expected.append(np.float32(factor) * (-x if number % 3 == 0 else x))
    run(scaled, problems, target)
    for (y, *_), values in zip(problems, expected, strict=True):
        np.testing.assert_array_equal(y.array, values)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_products_of_any_shapes(rng, target):
    problems = []
    for _ in range(4):
        m, n, k = (int(extent) for extent in rng.integers(1, 70, 3))
        a = rng.integers(-3, 4, (m, k)).astype(np.float16)
        b = rng.integers(-3, 4, (k, n)).astype(np.float16)
        problems.append((tl.partition(np.full((m, n), np.nan, np.float32), (32, 32)), a, b))
    run(matmul_kernel, problems, target, tk=32)
    for c, a, b in problems:
        np.testing.assert_array_equal(c.array, a.astype(np.float32) @ b.astype(np.float32))


def test_reductions_of_rows(rng):
    problems = []
    for rows in (3, 1, 9):
        x = rng.standard_normal((rows, 77)).astype(np.float32)
        problems.append((tl.partition(np.full_like(x, np.nan), (2, 77)), x))
    run(softmax_kernel, problems, "sm_80")
    for y, x in problems:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        np.testing.assert_allclose(y.array, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
