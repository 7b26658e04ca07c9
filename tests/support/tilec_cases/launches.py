"""One small launch of many kernels, for tests that take compilations apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import tilec as tl
from tilec.jit.job import CompileJob
from tilec.kernels.add import add_kernel
from tilec.kernels.layernorm import layernorm_kernel
from tilec.kernels.matmul import matmul_kernel
from tilec.kernels.rmsnorm import rmsnorm_kernel
from tilec.kernels.softmax import softmax_kernel
from tilec.kernels.sums import column_sum_kernel, row_sum_kernel
from tilec.kernels.transpose import transpose_kernel
from tilec_cases import attention, bounds, control_flow, expressions, numerics, products

BF16 = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class Launch:
    """A kernel and its arguments, NumPy arrays among them."""

    kernel: Any
    arguments: tuple[Any, ...]
    constants: dict[str, Any]

    def bytecode(self) -> bytes:
        """Trace the kernel."""
        request = self.kernel.request(*self.arguments, target="host", **self.constants)
        return CompileJob(request).trace().bytecode

    def flat(self) -> list[Any]:
        """Return fresh copies of the run-time arguments."""
        bare = [getattr(argument, "array", argument) for argument in self.arguments]
        return [a.copy() if isinstance(a, np.ndarray) else a for a in bare]

    def programs(self) -> int:
        """Return how many programs run."""
        part = self.arguments[0]
        tiles = zip(part.array.shape, part.tile_shape, strict=True)
        return int(np.prod([-(-size // extent) for size, extent in tiles]))


def launches(rng: np.random.Generator) -> list[Launch]:
    """Return launches with loops, branches, reductions, products, and odd shapes."""

    def normal(*shape: int, dtype: Any = np.float32) -> Any:
        return rng.standard_normal(shape).astype(dtype)

    def out(tile: tuple[int, ...], *shape: int, dtype: Any = np.float32) -> Any:
        return tl.partition(np.full(shape, 9, dtype), tile)

    def keep(row: Any, column: Any) -> Any:
        return (column <= row) & (column < 24)

    half = [normal(24, 16, dtype=np.float16) for _ in range(3)]
    integers = rng.integers(-9, 9, 8).astype(np.int32)
    row = normal(331, dtype=BF16)
    rows = normal(5, 331, dtype=BF16)
    ones = (1,)
    found = [
        (add_kernel, out((1, 256), 3, 500), normal(3, 500), normal(3, 500)),
        (softmax_kernel, out((2, 1185), 3, 1185, dtype=BF16), normal(3, 1185, dtype=BF16)),
        (softmax_kernel, out((8, 31), 9, 31), normal(9, 31)),
        (layernorm_kernel, out((4, 331), 5, 331, dtype=BF16), rows, row, row, 1e-5),
        (rmsnorm_kernel, out((2, 331), 5, 331, dtype=BF16), rows, row, 1e-5),
        (transpose_kernel, out((32, 32), 70, 50, dtype=BF16), normal(50, 70, dtype=BF16)),
        (row_sum_kernel, out((4,), 6), normal(6, 300), {"tn": 128}),
        (column_sum_kernel, out((32,), 35), normal(40, 35), {"tm": 16}),
        (matmul_kernel, out((32, 16), 40, 33, dtype=BF16), normal(40, 50, dtype=BF16),
         normal(50, 33, dtype=BF16), {"tk": 32}),
        (matmul_kernel, out((4, 8), 9, 35), normal(9, 50), normal(50, 35), {"tk": 16}),
        (products.two_products, out((4, 8), 9, 35), *[normal(9, 20), normal(20, 35)] * 2,
         {"tk": 8}),
        (products.mm_of_transposed, out((16, 16), 20, 17), normal(20, 32, dtype=np.float16),
         normal(17, 32, dtype=np.float16), {"tk": 16}),
        (attention.attention, out((8, 16), 24, 16, dtype=np.float16), *half, 0.25,
         {"d": 16, "tn": 8, "keep": keep}),
        (control_flow.countdown, out(ones, 8, dtype=np.int32), 4),
        (control_flow.fibonacci, *(out((4,), 4, dtype=np.int32) for _ in "ab"), 10),
        (control_flow.pipelined, out((8, 4), 16, 8), normal(16, 64), normal(64, 8)),
        (control_flow.strided_gather, out(ones, 1, dtype=np.int32),
         np.arange(64, dtype=np.int32), 1, 3),
        (bounds.shifted, out((4, 8), 10, 21), normal(10, 21), -1),
        (numerics.running_maximum, out(ones, 1), normal(256), {"propagate": False}),
        (numerics.divide_by_scalar, *(out((3,), 8, dtype=np.int32) for _ in "ab"), integers, -3),
        (numerics.arg_extremes, *(out(ones, 7, dtype=np.int32) for _ in "ab"),
         *(out(ones, 7) for _ in "ab"), np.round(normal(7, 5)), {"n": 16, "pad": float("inf")}),
    ]  # fmt: skip
    return [_launch(*parts) for parts in found]


def random_programs(rng: np.random.Generator, count: int) -> list[Launch]:
    """Return launches of `expressions.run_program` over ragged tiles of any extents."""
    return [_random_program(rng) for _ in range(count)]


def _random_program(rng: np.random.Generator) -> Launch:
    names = sorted(expressions.TILE_STEPS)
    program = tuple(
        (names[rng.integers(len(names))], int(rng.integers(9)), int(rng.integers(9)))
        for _ in range(rng.integers(1, 6))
    )
    tile = tuple(int(extent) for extent in rng.choice([1, 2, 3, 5, 8, 16, 17, 24, 32, 33], 2))
    shape = tuple(max(1, extent + int(rng.integers(-5, 6))) for extent in tile)
    dtype = rng.choice([np.int32, np.int64, np.int16, np.uint8])
    limits = np.iinfo(dtype)
    x, y = (rng.integers(limits.min, limits.max, shape, dtype, endpoint=True) for _ in range(2))
    z = tl.partition(np.zeros(shape, dtype), tile)
    return Launch(expressions.run_program, (z, x, y), {"program": program})


def _launch(kernel: Any, *parts: Any) -> Launch:
    *arguments, last = parts
    if isinstance(last, dict):
        return Launch(kernel, tuple(arguments), last)
    return Launch(kernel, parts, {})
