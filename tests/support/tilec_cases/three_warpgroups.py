"""Tiles that three warpgroups share on Hopper, and other kernels of twelve warps."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilec as tl
from tilec_cases import hopper_products, nearly_products
from tilec_cases.checks import UNIT, assert_within, double
from tilec_cases.hopper_products import (
    TRANSPOSED,
    assert_is_product,
    poisoned,
    random_values,
    some_shape,
)
from tilec_cases.nearly_products import BF16, E4M3, F16, F32, I8, I32, Bounded, Case, product

TILES = [(192, 192), (192, 128), (192, 256), (192, 96), (384, 64), (192, 24)]
demanding = tl.kernel(num_warps=12, require=("wgmma", "tma"), max_spills=0)
plain = tl.kernel(num_warps=12)(nearly_products.plain.function)
in_tf32 = tl.kernel(num_warps=12)(nearly_products.in_tf32.function)


def multiply(place: Any, a: Any, b: Any, tile: Any, output: Any, gap_elems: int = 8) -> Any:
    """A product by three warpgroups on the device; its surroundings are checked."""
    return hopper_products.multiply(place, a, b, tile, output, gap_elems, (plain, in_tf32))


# -- products --------------------------------------------------------------------------------------


@pytest.mark.parametrize("transposed", TRANSPOSED)
@pytest.mark.parametrize("tile", TILES)
def test_random_shape_between_nans(place, rng, tile, transposed):
    m, n, k = some_shape(rng, 700)
    a_gap, b_gap, c_gap = (int(gap) for gap in rng.integers(0, 40, 3))
    print("shape", m, n, k, "gaps", a_gap, b_gap, c_gap)
    a = poisoned(random_values(rng, (m, k), BF16), a_gap, "a" in transposed)
    b = poisoned(random_values(rng, (k, n), BF16), b_gap, "b" in transposed)
    assert_is_product(multiply(place, a, b, tile, BF16, c_gap), a, b)


@pytest.mark.parametrize("transposed", TRANSPOSED)
@pytest.mark.parametrize("tile", TILES)
def test_tails_of_rows_that_the_copy_engine_takes(place, rng, tile, transposed):
    """Pitches are multiples of 16 bytes, extents are not."""
    m, n, k = (8 * int(extent) for extent in rng.integers(2, 80, 3))
    print("shape", m - 3, n - 5, k - 7)
    shapes = (m - 3, k - 7), (k - 7, n - 5)
    gaps = (3 if "a" in transposed else 7), (7 if "b" in transposed else 5)
    a, b = (
        poisoned(random_values(rng, shape, BF16), gap, name in transposed)
        for shape, gap, name in zip(shapes, gaps, "ab", strict=True)
    )
    assert_is_product(multiply(place, a, b, tile, BF16, 5), a, b)


@pytest.mark.parametrize(
    ("dtype", "output"), [(F16, F16), (F16, F32), (BF16, F32), (E4M3, BF16), (F32, F32), (I8, I32)]
)
@pytest.mark.parametrize("transposed", TRANSPOSED)
@pytest.mark.parametrize("tile", [(192, 192), (192, 128)])
def test_types_in_all_orders(place, rng, tile, dtype, output, transposed):
    m, n, k = some_shape(rng, 500)
    print("shape", m, n, k)
    a, b = random_values(rng, (m, k), dtype), random_values(rng, (k, n), dtype)
    item = 16 // dtype.itemsize
    a = poisoned(a, -a.shape["a" not in transposed] % item, "a" in transposed)
    b = poisoned(b, -b.shape["b" not in transposed] % item, "b" in transposed)
    assert_is_product(multiply(place, a, b, tile, output), a, b)


@pytest.mark.parametrize("k", [8, 64, 200, 512])
def test_runs_are_equal_bit_by_bit(place, rng, k):
    a, b = random_values(rng, (400, k), BF16), random_values(rng, (k, 520), BF16)
    first, *others = (multiply(place, a, b, (192, 192), F32).tobytes() for _ in range(4))
    assert all(other == first for other in others)


@pytest.mark.parametrize("tile", [(192, 192), (192, 128)])
def test_loops_of_few_turns_over_many_tiles(place, rng, tile):
    """Where queues wrap around at every phase."""
    for turns, columns in itertools.product((1, 2, 3, 5), (1, 3)):
        a = random_values(rng, (tile[0] * 5, 64 * turns), BF16)
        b = random_values(rng, (64 * turns, tile[1] * columns), BF16)
        assert_is_product(multiply(place, a, b, tile, BF16), a, b)


def test_accumulators_that_one_warpgroup_cannot_hold_need_no_hint(place, rng):
    a, b = random_values(rng, (500, 264), BF16), random_values(rng, (264, 600), BF16)
    c = place.output((500, 600), BF16, gap_elems=8)
    part = tl.partition(c.array, (192, 192))
    nearly_products.plain(part, place.array(a), place.array(b))
    assert_is_product(c.read(), a, b)


# -- what else a kernel does with such tiles -------------------------------------------------------


@demanding
def columns_then_rows(c, a, b, *, tk: tl.Constant[int] = 64):
    """Reductions across the warpgroups, then inside their warps."""
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    acc = acc - tl.max(acc, axis=0, keepdims=True)
    c.store((acc - tl.sum(acc, axis=1, keepdims=True) * (1.0 / tn)).to(c.dtype))


@demanding
def transposed_output(c, a, b, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tn, tm), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((j, k), (tn, tk)), b.load((k, i), (tk, tm)), acc)
    c.store(acc.T.to(c.dtype))


def by_columns_then_rows(a: Any, b: Any, tile: tuple[int, int]) -> Bounded:
    """Of whole tiles."""
    whole = product(a, b)
    value, error = np.empty_like(whole.value), np.empty_like(whole.value)
    for i, j in itertools.product(
        range(0, value.shape[0], tile[0]), range(0, value.shape[1], tile[1])
    ):
        at = slice(i, i + tile[0]), slice(j, j + tile[1])
        x, slack = whole.value[at], whole.error[at].max()
        x = x - x.max(axis=0)
        value[at] = x - x.mean(axis=1, keepdims=True)
        error[at] = 4 * slack + 2.0**-18 * np.abs(x).max()
    return Bounded(value, error)


EPILOGUES = {
    name: replace(
        nearly_products.CASES[name],
        kernel=demanding(nearly_products.CASES[name].kernel.function),
        tile=tile,
    )
    for name, tile in {
        "residual in the epilogue": (192, 192),
        "accumulator that starts from an array": (192, 128),
        "bias and GELU": (192, 192),
        "loop from 1 by 2": (192, 192),
        "as many turns as a scalar says": (192, 192),
        "no turns, since a scalar says so": (192, 192),
        "two products into one accumulator": (192, 192),
        "two right operands and a gate, narrow": (192, 96),
        "left operand converted from f32": (192, 128),
        "product outside of loops": (192, 192),
    }.items()
}
EPILOGUES["transposed output"] = Case(
    transposed_output,
    lambda rng, m, n, k: (
        nearly_products.normal(rng, (n, k)),
        nearly_products.normal(rng, (k, m)),
    ),
    lambda a, b: Bounded(product(a, b).value.T, product(a, b).error.T),
    tile=(128, 192),
)


@pytest.mark.parametrize("shape", [(200, 264, 200), (600, 520, 328)])
@pytest.mark.parametrize("name", EPILOGUES)
def test_product_and_more(place, rng, name, shape):
    EPILOGUES[name].run(place, rng, *shape)


@pytest.mark.parametrize("tile", [(192, 64), (192, 96)])
def test_reductions_of_accumulators(place, rng, tile):
    m, n, k = 2 * tile[0], 3 * tile[1], 200
    a, b = random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)
    c = place.output((m, n), F32, gap_elems=4)
    columns_then_rows(tl.partition(c.array, tile), place.array(a), place.array(b))
    expected = by_columns_then_rows(a, b, tile)
    assert_within(c.read(), expected.value, expected.error + UNIT[F32] * np.abs(expected.value))


# -- without products ------------------------------------------------------------------------------


@tl.kernel(num_warps=12)
def softmax_of_twelve(y, x):
    row = x.load_like(y).to(tl.float32)
    e = tl.exp(row - tl.max(row, axis=-1, keepdims=True))
    y.store((e / tl.sum(e, axis=-1, keepdims=True)).to(y.dtype))


@tl.kernel(num_warps=12)
def transpose_of_twelve(y, x):
    i, j = y.index
    tm, tn = y.tile_shape
    y.store(x.load((j, i), (tn, tm)).T)


@pytest.mark.parametrize("tile", [(1, 4096), (1, 3072), (4, 500), (24, 96)])
def test_softmax(place, rng, tile):
    x = rng.standard_normal((50, tile[1])).astype(np.float32)
    y = place.output(x.shape, F32, gap_elems=4)
    softmax_of_twelve(tl.partition(y.array, tile), place.array(x))
    e = np.exp(double(x) - double(x).max(axis=1, keepdims=True))
    expected = e / e.sum(axis=1, keepdims=True)
    assert_within(y.read(), expected, 2.0**-18 * expected)


@pytest.mark.parametrize("tile", [(64, 96), (48, 48), (33, 17)])
def test_transpose(place, rng, tile):
    x = rng.standard_normal((200, 130)).astype(np.float32)
    y = place.output((130, 200), F32, gap_elems=4)
    transpose_of_twelve(tl.partition(y.array, tile), place.array(x))
    np.testing.assert_array_equal(y.read(), x.T)
