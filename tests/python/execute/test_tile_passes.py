"""What the passes on `tile` leave behind computes what the kernel said, to the bit."""

import subprocess
import sys

import numpy as np
from tilec_cases import attention, bounds, control_flow, expressions, numerics, products
from tilec_cases.expressions import TILE_STEPS

import tilec as tl
from tilec.execute import execute
from tilec.jit.job import CompileJob
from tilec.kernels.layernorm import layernorm_kernel
from tilec.kernels.matmul import matmul_kernel
from tilec.kernels.softmax import softmax_kernel
from tilec.kernels.sums import column_sum_kernel

SEPARATOR = "// -----"
PROGRAMS = 30


def bytecode_of(kernel, *arguments, **keywords):
    return CompileJob(kernel.request(*arguments, target="host", **keywords)).trace().bytecode


def optimized(modules, tmp_path):
    """Run the pass pipeline of the `tile` phase over many modules at once."""
    from tilec._mlir._mlir_libs import _tilec

    source = tmp_path / "modules.mlir"
    source.write_text(f"\n{SEPARATOR}\n".join(_tilec.print_module(m) for m in modules))
    command = [sys.executable, "-m", "tilec.opt", "--tilec-tile", "--split-input-file", source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = done.stdout.split(SEPARATOR)
    assert len(found) == len(modules)
    return found


def assert_same(modules, argument_lists, tmp_path):
    for before, after, arguments in zip(
        modules, optimized(modules, tmp_path), argument_lists, strict=True
    ):
        copies = [[a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in "ab"]
        execute(before, copies[0])
        execute(after.encode(), copies[1])
        for one, other in zip(*copies, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), after


def test_random_programs_survive_the_passes(rng, tmp_path):
    names = sorted(TILE_STEPS)
    modules, argument_lists = [], []
    for _ in range(PROGRAMS):
        program = tuple(
            (names[rng.integers(len(names))], int(rng.integers(9)), int(rng.integers(9)))
            for _ in range(rng.integers(1, 8))
        )
        tile = tuple(int(extent) for extent in rng.integers(1, 9, 2))
        x, y = rng.integers(-(2**31), 2**31, (2, 11, 13)).astype(np.int32)
        z = np.zeros_like(x)
        kernel = expressions.run_program
        modules.append(bytecode_of(kernel, tl.partition(z, tile), x, y, program=program))
        argument_lists.append([z, x, y])
    assert_same(modules, argument_lists, tmp_path)


def test_kernels_with_loops_branches_and_products_survive_the_passes(rng, tmp_path):
    def normal(*shape, dtype=np.float32):
        return rng.standard_normal(shape).astype(dtype)

    out, matrix = np.zeros((9, 35), np.float32), normal(9, 35)
    half = [normal(24, 16, dtype=np.float16) for _ in range(3)]
    counts, vector = np.zeros(8, np.int32), normal(640)

    def keep(row, column):
        return column <= row

    whole = tl.partition(out, (2, 35))
    launches = [
        (softmax_kernel, (whole, matrix), {}),
        (layernorm_kernel, (whole, matrix, normal(35), normal(35), 1e-5), {}),
        (matmul_kernel, (tl.partition(out, (4, 8)), normal(9, 50), normal(50, 35)), {"tk": 16}),
        (products.two_products, (tl.partition(out, (4, 8)), *[normal(9, 20), normal(20, 35)] * 2),
         {"tk": 8}),
        (column_sum_kernel, (tl.partition(np.zeros(35, np.float32), (8,)), matrix), {"tm": 4}),
        (attention.attention, (tl.partition(np.zeros((24, 16), np.float16), (8, 16)), *half, 0.25),
         {"d": 16, "tn": 8, "keep": keep}),
        (control_flow.countdown, (tl.partition(counts, (1,)), 4), {}),
        (control_flow.fibonacci, (*[tl.partition(np.zeros(4, np.int32), (4,)) for _ in "ab"], 10),
         {}),
        (control_flow.pipelined, (tl.partition(np.zeros((16, 8), np.float32), (8, 4)),
         normal(16, 64), normal(64, 8)), {}),
        (control_flow.scalar_accumulator, (tl.partition(np.zeros(1, np.float32), (1,)), vector),
         {}),
        (bounds.shifted, (tl.partition(out, (4, 8)), matrix, -1), {}),
        (numerics.running_maximum, (tl.partition(np.zeros(1, np.float32), (1,)), vector),
         {"propagate": False}),
        (numerics.divide_by_scalar, (*[tl.partition(np.zeros(8, np.int32), (3,)) for _ in "ab"],
         rng.integers(-9, 9, 8).astype(np.int32), -3), {}),
    ]  # fmt: skip
    modules = [bytecode_of(kernel, *values, **named) for kernel, values, named in launches]
    flat = [[getattr(value, "array", value) for value in values] for _, values, _ in launches]
    assert_same(modules, flat, tmp_path)
