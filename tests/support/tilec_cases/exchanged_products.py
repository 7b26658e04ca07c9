"""Matrix products that Hopper computes as the transpose of the product of the transposed operands.

With few rows, with 32-bit operands that do not lie along K, and stored by columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import UNIT, assert_within, double
from tilec_cases.hopper_products import (
    TRANSPOSED,
    assert_is_product,
    multiply,
    poisoned,
    random_values,
    some_shape,
)
from tilec_cases.nearly_products import BF16, F16, F32, plain, product, two_into_one


@tl.kernel
def by_rows_in_tf32(c, a, b, *, tk: tl.Constant[int] = 32):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        x, y = a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn))
        acc = tl.mma(x.to(tl.tfloat32), y.to(tl.tfloat32), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def with_bias_and_residual(c, a, b, bias, residual, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    acc = acc + bias.load((j,), (tn,)).to(tl.float32)
    c.store((acc + residual.load_like(c).to(tl.float32)).to(c.dtype))


FEW_ROWS = [(8, 64), (16, 64), (16, 128), (24, 64), (32, 128), (32, 256), (40, 64)]


def rows_for_tma(values: Any, name: str, transposed: str) -> Any:
    """Between NaNs, with rows (or columns) that start at multiples of 16 bytes."""
    by_columns = name in transposed
    item = 16 // values.dtype.itemsize
    return poisoned(values, -values.shape[0 if by_columns else 1] % item + item, by_columns)


@pytest.mark.parametrize("transposed", TRANSPOSED)
@pytest.mark.parametrize("tile", FEW_ROWS)
def test_few_rows(place, rng, tile, transposed):
    m = int(rng.integers(1, 2 * tile[0] + 1))
    n, k = (int(extent) for extent in rng.integers(1, 700, 2))
    print("shape", m, n, k)
    a = rows_for_tma(random_values(rng, (m, k), BF16), "a", transposed)
    b = rows_for_tma(random_values(rng, (k, n), BF16), "b", transposed)
    gap = int(rng.integers(0, 9))
    assert_is_product(multiply(place, a, b, tile, BF16, gap), a, b)


@pytest.mark.parametrize(("dtype", "output"), [(F16, F16), (F16, F32), (BF16, F32)])
@pytest.mark.parametrize("tile", [(16, 64), (32, 128)])
def test_few_rows_in_other_types(place, rng, tile, dtype, output):
    m, (n, k) = int(rng.integers(1, 33)), (8 * int(extent) for extent in rng.integers(1, 60, 2))
    print("shape", m, n, k)
    a, b = random_values(rng, (m, k), dtype), random_values(rng, (k, n), dtype)
    assert_is_product(multiply(place, a, b, tile, output), a, b)


@pytest.mark.parametrize("transposed", TRANSPOSED)
@pytest.mark.parametrize("tile", [(64, 64), (128, 128), (256, 128), (128, 256), (64, 128)])
def test_tf32_in_all_orders(place, rng, tile, transposed):
    m, n, k = some_shape(rng, 500)
    print("shape", m, n, k)
    a = rows_for_tma(random_values(rng, (m, k), F32), "a", transposed)
    b = rows_for_tma(random_values(rng, (k, n), F32), "b", transposed)
    c = place.output((m, n), F32, gap_elems=int(rng.integers(0, 5)))
    by_rows_in_tf32(tl.partition(c.array, tile), place.array(a), place.array(b))
    assert_is_product(c.read(), a, b)


@pytest.mark.parametrize("output", [BF16, F16, F32])
@pytest.mark.parametrize("tile", [(128, 128), (128, 256), (64, 64), (16, 64), (32, 128)])
def test_output_by_columns(place, rng, tile, output):
    m, n, k = some_shape(rng, 400)
    m = 8 * -(-m // 8)
    print("shape", m, n, k)
    a, b = random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)
    a, b = rows_for_tma(a, "a", ""), rows_for_tma(b, "b", "")
    c = place.output((n, m), output, gap_elems=8)
    plain(tl.partition(c.array.T, tile), place.array(a), place.array(b))
    assert_is_product(c.read().T, a, b)


@pytest.mark.parametrize("tile", [(16, 64), (32, 128), (128, 128)])
def test_bias_and_residual(place, rng, tile):
    m, n, k = int(rng.integers(1, 70)), *(8 * int(extent) for extent in rng.integers(1, 50, 2))
    a, b = random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)
    bias, residual = random_values(rng, (1, n), BF16)[0], random_values(rng, (m, n), BF16)
    c = place.output((m, n), BF16, gap_elems=8)
    given = [place.array(x) for x in (a, b, bias, residual)]
    with_bias_and_residual(tl.partition(c.array, tile), *given)
    exact = product(a, b)
    value = exact.value + double(bias) + double(residual)
    rounding = 2.0**-22 * (np.abs(exact.value) + np.abs(double(bias)) + np.abs(double(residual)))
    assert_within(c.read(), value, exact.error + rounding + UNIT[BF16] * np.abs(value))


@pytest.mark.parametrize("tile", [(16, 64), (32, 128)])
def test_two_products_into_one(place, rng, tile):
    m, n, k = int(rng.integers(1, 70)), *(8 * int(extent) for extent in rng.integers(1, 50, 2))
    pairs = [(random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)) for _ in "ab"]
    c = place.output((m, n), F32)
    given = [place.array(x) for pair in pairs for x in pair]
    two_into_one(tl.partition(c.array, tile), *given)
    parts = [product(*pair) for pair in pairs]
    value = sum(part.value for part in parts)
    assert_within(c.read(), value, 2 * sum(part.error for part in parts) + UNIT[F32] * abs(value))


@pytest.mark.parametrize("k", [8, 64, 200, 1000])
def test_runs_are_equal(place, rng, k):
    a, b = random_values(rng, (13, k), BF16), random_values(rng, (k, 520), BF16)
    first, *others = (multiply(place, a, b, (16, 64), F32).tobytes() for _ in range(4))
    assert all(other == first for other in others)
