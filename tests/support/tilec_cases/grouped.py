"""Grouped launches: many problems at once, of any shapes and alignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tilec as tl
from tilec import kernels
from tilec.kernels.matmul import batched_matmul_kernel, matmul_kernel
from tilec.kernels.softmax import softmax_kernel
from tilec_cases.checks import BF16, F16, F32, assert_exact, assert_product, assert_within
from tilec_cases.hopper_products import poisoned

Shape = tuple[int, int, int]


@tl.kernel
def scaled(y, x, factor, offset):
    """One tile of ``y = factor * x + offset``."""
    y.store(x.load_like(y) * factor + offset)


@tl.kernel
def product_and_rest(c, a, b, rest, scale, *, tk: tl.Constant[int] = 64):
    """A product with an epilogue that reads an array and a scalar of the problem's."""
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store((acc * scale + rest.load_like(c).to(tl.float32)).to(c.dtype))


@dataclass
class Product:
    """A problem: its operands on the host, and its output on the device."""

    a: Any
    b: Any
    output: Any

    @classmethod
    def random(cls, place: Any, rng: Any, shape: Shape, dtype: Any, *, aligned: bool) -> Product:
        """Operands between NaNs; their rows are multiples of 16 bytes apart where ``aligned``."""
        m, n, k = shape
        values = [rng.standard_normal(extents).astype(dtype) for extents in ((m, k), (k, n))]
        unit = 16 // np.dtype(dtype).itemsize
        gaps = [-array.shape[1] % unit + unit if aligned else 1 for array in values]
        a, b = (poisoned(array, gap, False) for array, gap in zip(values, gaps, strict=True))
        gap = -n % unit + unit if aligned else 3
        return cls(a, b, place.output((m, n), dtype, gap_elems=gap))

    def arguments(self, place: Any, tile: Any) -> tuple[Any, ...]:
        return tl.partition(self.output.array, tile), place.array(self.a), place.array(self.b)

    def check(self) -> None:
        assert_product(self.output.read(), self.a, self.b)


def launch_products(
    place: Any, rng: Any, shapes: list[Shape], tile: Any, dtype: Any = BF16, aligned: bool = True
) -> None:
    print("shapes", shapes)
    products = [Product.random(place, rng, shape, dtype, aligned=aligned) for shape in shapes]
    matmul_kernel.grouped([product.arguments(place, tile) for product in products])
    for product in products:
        product.check()


def some_shapes(rng: Any, count: int, most: int) -> list[Shape]:
    found = rng.integers(1, most, (count, 3))
    return [(int(m), int(n), int(k)) for m, n, k in found]


TILES = [tl.AUTO, (128, 128), (128, 256), (64, 128), (64, 64)]


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("aligned", [True, False])
def test_products_of_random_shapes_between_nans(place, rng, tile, aligned):
    launch_products(place, rng, some_shapes(rng, 7, 300), tile, aligned=aligned)


@pytest.mark.parametrize("tile", [tl.AUTO, (128, 128), (128, 256)])
def test_depths_that_differ_from_problem_to_problem(place, rng, tile):
    """Programs that take turns pass by stages of tiles that are not theirs."""
    depths = [int(depth) for depth in rng.integers(1, 12, 9) * 64]
    launch_products(place, rng, [(150, 270, depth) for depth in depths], tile)


def test_experts_with_ragged_rows(place, rng):
    """As a router leaves them: some have nothing to do, some a single row."""
    rows = [int(count) for count in rng.integers(0, 60, 64)]
    rows[3], rows[10], rows[63] = 0, 1, 0
    launch_products(place, rng, [(m, 96, 64) for m in rows], tl.AUTO)


def test_rows_of_one_array_are_problems_of_their_own(place, rng):
    """Slices of one buffer: disjoint, side by side."""
    counts = [int(count) for count in rng.integers(1, 40, 12)]
    x = rng.standard_normal((sum(counts), 64)).astype(BF16)
    weights = [rng.standard_normal((64, 48)).astype(BF16) for _ in counts]
    output, whole = place.output((sum(counts), 48), BF16), place.array(x)
    ends = np.cumsum(counts)
    spans = [slice(int(end - count), int(end)) for count, end in zip(counts, ends, strict=True)]
    matmul_kernel.grouped(
        [
            (tl.partition(output.array[span], tl.AUTO), whole[span], place.array(w))
            for span, w in zip(spans, weights, strict=True)
        ]
    )
    found = output.read()
    for span, w in zip(spans, weights, strict=True):
        assert_product(found[span], x[span], w)


def test_columns_of_one_array_are_problems_of_their_own(place, rng):
    """Interleaved in memory, and disjoint for all that."""
    a, b = rng.standard_normal((70, 32)).astype(F16), rng.standard_normal((32, 96)).astype(F16)
    output, left, right = place.output((70, 96), F16), place.array(a), place.array(b)
    matmul_kernel.grouped(
        [
            (tl.partition(output.array[:, k : k + 32], tl.AUTO), left, right[:, k : k + 32])
            for k in (0, 32, 64)
        ]
    )
    assert_product(output.read(), a, b)


@pytest.mark.parametrize("dtype", [F16, BF16, F32])
def test_dtypes(place, rng, dtype):
    launch_products(place, rng, some_shapes(rng, 5, 200), tl.AUTO, dtype)


def test_a_depth_of_zero_gives_zeros(place, rng):
    launch_products(place, rng, [(40, 50, 64), (33, 20, 0), (7, 9, 100)], (64, 64))


def test_one_problem_is_a_launch_like_any_other(place, rng):
    shape = (130, 260, 192)
    single, grouped = (Product.random(place, rng, shape, BF16, aligned=True) for _ in range(2))
    grouped.a, grouped.b = single.a, single.b
    matmul_kernel(*single.arguments(place, (128, 128)))
    matmul_kernel.grouped([grouped.arguments(place, (128, 128))])
    assert_exact(grouped.output.read(), single.output.read())


def test_the_same_list_gives_the_same_bits(place, rng):
    shapes, found = some_shapes(rng, 6, 300), []
    operands = [Product.random(place, rng, shape, BF16, aligned=True) for shape in shapes]
    for _ in range(3):
        products = [
            Product(p.a, p.b, place.output((p.a.shape[0], p.b.shape[1]), BF16)) for p in operands
        ]
        matmul_kernel.grouped([product.arguments(place, tl.AUTO) for product in products])
        found.append([product.output.read().tobytes() for product in products])
    assert found[0] == found[1] == found[2]


def test_epilogues_read_arrays_and_scalars_of_their_problem(place, rng):
    problems, expected = [], []
    for m, n, k in some_shapes(rng, 6, 250):
        a, b = rng.standard_normal((m, k)).astype(BF16), rng.standard_normal((k, n)).astype(BF16)
        rest, scale = rng.standard_normal((m, n)).astype(BF16), float(rng.standard_normal())
        output = place.output((m, n), F32)
        arrays = [place.array(array) for array in (a, b, rest)]
        problems.append((tl.partition(output.array, (128, 128)), *arrays, scale))
        expected.append((output, a, b, rest, np.float32(scale)))
    product_and_rest.grouped(problems)
    for output, a, b, rest, scale in expected:
        a, b, rest = (array.astype(np.float64) for array in (a, b, rest))
        sizes = np.abs(a) @ np.abs(b) * abs(scale) + np.abs(rest)
        allowed = 4 * (a.shape[1] + 2) * 2.0**-24 * sizes
        assert_within(output.read(), a @ b * float(scale) + rest, allowed)


def test_batches_of_different_lengths(place, rng):
    problems, expected = [], []
    for batch in (1, 3, 2):
        a = rng.standard_normal((batch, 70, 64)).astype(F16)
        b = rng.standard_normal((batch, 64, 40)).astype(F16)
        output = place.output((batch, 70, 40), F16)
        part = tl.partition(output.array, (1, 64, 64))
        problems.append((part, place.array(a), place.array(b)))
        expected.append((output, a, b))
    batched_matmul_kernel.grouped(problems)
    for output, a, b in expected:
        for found, left, right in zip(output.read(), a, b, strict=True):
            assert_product(found, left, right)


@pytest.mark.parametrize("tile", [tl.AUTO, (8, 64), (3, 5)])
def test_elementwise_with_scalars_of_each_problem(place, rng, tile):
    problems, expected = [], []
    for number, (m, n) in enumerate(rng.integers(0, 90, (20, 2))):
        x = rng.standard_normal((m, n)).astype(F32)
        factor, offset = float(rng.standard_normal()), 2**31 if number == 1 else int(m)
        output = place.output((m, n), F32, gap_elems=int(rng.integers(0, 4)))
        problems.append((tl.partition(output.array, tile), place.array(x), factor, offset))
        expected.append((output, x.astype(np.float64), np.float32(factor), offset))
    scaled.grouped(problems)
    for output, x, factor, offset in expected:
        exact = x * float(factor) + offset
        assert_within(output.read(), exact, 2.0**-22 * (np.abs(x * float(factor)) + offset))


@pytest.mark.parametrize("tile", [tl.AUTO, (2, 331)])
def test_rows_that_are_reduced_whole(place, rng, tile):
    problems, expected = [], []
    for m in rng.integers(0, 40, 9):
        x = rng.standard_normal((m, 331)).astype(F32)
        output = place.output((m, 331), F32)
        problems.append((tl.partition(output.array, tile), place.array(x)))
        expected.append((output, x.astype(np.float64)))
    softmax_kernel.grouped(problems)
    for output, x in expected:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        assert_within(output.read(), powers / powers.sum(axis=1, keepdims=True), 1e-6)


def test_products_of_the_library(place, rng):
    products = [
        Product.random(place, rng, shape, F16, aligned=True) for shape in some_shapes(rng, 6, 200)
    ]
    kernels.grouped_matmul([(p.output.array, place.array(p.a), place.array(p.b)) for p in products])
    for product in products:
        product.check()
    kernels.grouped_matmul([])
    c, a, b = (np.zeros(shape, np.float32) for shape in ((3, 4), (3, 5), (5, 4)))
    with pytest.raises(tl.LaunchError) as raised:
        kernels.grouped_matmul([(c, a, b), (c, b, a)])
    assert raised.value.message == "problem 1: a must have shape (3, 4), found (5, 4)"


def test_no_problems_and_only_empty_ones(place, rng):
    matmul_kernel.grouped([])
    launch_products(place, rng, [(0, 40, 64), (30, 0, 64)], tl.AUTO)
