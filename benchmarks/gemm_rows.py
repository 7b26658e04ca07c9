"""The matrix products that are measured, with what is aimed at, and their operands."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch

DEVICE = "cuda"
DTYPES = {
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "tf32": torch.float32,
    "e4m3": torch.float8_e4m3fn,
    "int8": torch.int8,
    "f64": torch.float64,
}
RESULTS = {"e4m3": torch.bfloat16, "int8": torch.int32}
SMALLEST, LARGEST = 64, 8192


@dataclass(frozen=True)
class Row:
    """One product.

    Attributes:
        m: rows of the result.
        n: columns of the result.
        k: the length of what is added up.
        element: a name of ``DTYPES``.
        goal: how many times as fast as cuBLAS it should be; 0 where nothing is aimed at.
        floor: how many times as fast it must be.
        transposed: which of ``a`` and ``b`` are stored by columns.
        batch: how many products there are.
        gelu: whether a bias and the GELU follow.
    """

    m: int
    n: int
    k: int
    element: str = "bf16"
    goal: float = 0.0
    floor: float = 0.0
    transposed: str = ""
    batch: int = 1
    gelu: bool = False

    @property
    def name(self) -> str:
        """Return what the row is called in tables."""
        stack = f"{self.batch} x " if self.batch > 1 else ""
        stored = "".join(f" {operand}.T" for operand in self.transposed)
        after = " + bias + gelu" if self.gelu else ""
        return f"{self.element} {stack}{self.m}x{self.n}x{self.k}{stored}{after}"

    @property
    def dtype(self) -> torch.dtype:
        """Return the operands' dtype."""
        return DTYPES[self.element]

    @property
    def result(self) -> torch.dtype:
        """Return the result's dtype."""
        return RESULTS.get(self.element, self.dtype)

    @property
    def flops(self) -> int:
        """Return multiplications and additions."""
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def moved_bytes(self) -> int:
        """Return the bytes of operands and result."""
        operands = (self.m * self.k + self.k * self.n) * self.dtype.itemsize
        return self.batch * (operands + self.m * self.n * self.result.itemsize)

    def operands(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return new random operands, normal (integers: uniform) in the range of their dtype."""
        return (
            self._operand("a", self.m, self.k),
            self._operand("b", self.k, self.n),
        )

    def outputs(self, count: int) -> list[torch.Tensor]:
        """Return so many results to be written."""
        shape = self._stacked(self.m, self.n)
        return [torch.empty(shape, dtype=self.result, device=DEVICE) for _ in range(count)]

    def _stacked(self, rows: int, columns: int) -> tuple[int, ...]:
        return (self.batch, rows, columns) if self.batch > 1 else (rows, columns)

    def _operand(self, name: str, rows: int, columns: int) -> torch.Tensor:
        if name in self.transposed:
            return self._random(self._stacked(columns, rows)).transpose(-1, -2)
        return self._random(self._stacked(rows, columns))

    def _random(self, shape: tuple[int, ...]) -> torch.Tensor:
        if self.dtype == torch.int8:
            return torch.randint(-128, 128, shape, dtype=torch.int8, device=DEVICE)
        return torch.randn(shape, device=DEVICE).to(self.dtype)


def _cube(size: int, goal: float, floor: float, **changes: object) -> Row:
    return Row(size, size, size, goal=goal, floor=floor, **changes)  # type: ignore[arg-type]


TABLE = (
    _cube(8192, 1.05, 1.00),
    _cube(4096, 1.01, 0.97),
    _cube(2048, 1.01, 0.97),
    _cube(3072, 1.01, 0.97),
    Row(4096, 14336, 4096, goal=1.01, floor=0.97),
    Row(16384, 4096, 1024, goal=1.12, floor=1.02),
    Row(8192, 8192, 1024, goal=1.12, floor=1.02),
    Row(4096, 4096, 512, goal=1.12, floor=1.02),
    *(Row(m, 8192, 8192, goal=1.03, floor=0.97) for m in (512, 256, 128, 64)),
    Row(4096, 4096, 4104, goal=1.00, floor=0.92),
    _cube(3000, 1.00, 0.92),
    Row(4095, 4097, 4099, goal=1.00, floor=0.80),
    Row(512, 512, 8192, goal=1.00, floor=0.92),
    Row(16, 8192, 8192, goal=1.00, floor=0.92),
    _cube(8192, 1.03, 0.97, element="f16"),
    # cuBLAS takes the right operand of 8 bits by columns only.
    _cube(8192, 1.03, 0.97, element="e4m3", transposed="b"),
    _cube(4096, 1.03, 0.97, element="e4m3", transposed="b"),
    _cube(4096, 1.00, 0.90, element="tf32"),
    _cube(4096, 1.00, 0.90, element="tf32", transposed="b"),
    _cube(4096, 1.00, 0.90, element="tf32", transposed="a"),
    _cube(4096, 0.95, 0.80, element="f64"),
    _cube(4096, 1.00, 0.90, element="int8"),
    _cube(4096, 1.00, 0.90, element="int8", transposed="b"),
    *(_cube(4096, 1.00, 0.97, transposed=stored) for stored in ("a", "b", "ab")),
    _cube(1024, 1.00, 0.95, batch=64),
    _cube(4096, 1.00, 0.95, gelu=True),
)
"""Products whose ratios to cuBLAS are aimed at."""

QUICK = (
    _cube(256, 0, 0),
    Row(255, 129, 77),
    _cube(256, 0, 0, element="e4m3", transposed="b"),
    _cube(256, 0, 0, element="tf32", transposed="a"),
    _cube(256, 0, 0, element="int8", transposed="b"),
    _cube(256, 0, 0, element="f64"),
    _cube(128, 0, 0, batch=3),
    _cube(256, 0, 0, gelu=True),
)
"""Small ones, to see that the benchmark works."""

RANDOM_GOAL, RANDOM_FLOOR, RANDOM_LEAST = 1.03, 0.97, 0.75
"""Of random shapes: for their geometric mean, and for each."""


def random_rows(count: int, seed: int) -> Iterator[Row]:
    """Return products whose extents are spread evenly over powers of two.

    Two in five shapes are made of multiples of 64, two of multiples of 8, and one of anything.
    """
    chance = random.Random(seed)
    for _ in range(count):
        step = chance.choice((64, 64, 8, 8, 1))
        m, n, k = (_extent(chance, step) for _ in range(3))
        yield Row(m, n, k)


def _extent(chance: random.Random, step: int) -> int:
    size = math.exp(chance.uniform(math.log(SMALLEST), math.log(LARGEST)))
    return max(SMALLEST, round(size / step) * step)
