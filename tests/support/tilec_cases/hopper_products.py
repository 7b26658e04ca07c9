"""Matrix products of warp roles: tails, pitches, transposes, types and special values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import UNIT, assert_exact, assert_within, double
from tilec_cases.nearly_products import BF16, E4M3, F16, F32, I8, I32, in_tf32, plain, product

TILES = [(128, 128), (128, 256), (64, 256), (256, 128), (128, 160), (64, 64)]
TRANSPOSED = ["", "a", "b", "ab"]


def poisoned(values: np.ndarray[Any, Any], gap_elems: int, transposed: bool) -> Any:
    """The same values between NaNs (of integers, between the largest), in rows or in columns."""
    source = values.T if transposed else values
    rows, columns = source.shape
    poison = np.iinfo(values.dtype).max if values.dtype.kind == "i" else np.nan
    around = np.full((rows + 2, columns + gap_elems), poison, values.dtype)
    inside = around[1:-1, :columns]
    inside[...] = source
    return inside.T if transposed else inside


FP8_SUM = 2.0**-10
"""Of the terms' sizes: tensor cores keep fewer digits of such sums (docs/numerics.md)."""


def random_values(rng: Any, shape: tuple[int, int], dtype: Any) -> Any:
    if dtype == I8:
        return rng.integers(-128, 128, shape, np.int8)
    values = rng.standard_normal(shape)
    return values.astype(BF16).astype(dtype) if dtype == F32 else values.astype(dtype)


def multiply(
    place: Any,
    a: Any,
    b: Any,
    tile: Any,
    output: Any,
    gap_elems: int = 8,
    kernels: tuple[Any, Any] = (plain, in_tf32),
) -> Any:
    """A product on the device, by the second kernel in tf32; its surroundings are checked."""
    of_others, of_f32 = kernels
    m, n, dtype = a.shape[0], b.shape[1], a.dtype
    c = place.output((m, n), output, gap_elems=gap_elems)
    part, x, y = tl.partition(c.array, tile), place.array(a), place.array(b)
    if dtype == F32:
        of_f32(part, x, place.array(b.T))
    elif dtype == I8:
        of_others(part, x, y, tk=128, acc_t=tl.int32)
    else:
        of_others(part, x, y, tk=128 // dtype.itemsize)
    return c.read()


def assert_is_product(found: Any, a: Any, b: Any) -> None:
    if found.dtype.kind == "i":
        assert_exact(found, (double(a) @ double(b)).astype(found.dtype))
        return
    expected = product(a, b)
    unit = UNIT[found.dtype]
    assert_within(found, expected.value, expected.error + unit * np.abs(expected.value))


def some_shape(rng: Any, most: int) -> tuple[int, int, int]:
    m, n, k = (int(extent) for extent in rng.integers(1, most, 3))
    return m, n, k


@pytest.mark.parametrize("transposed", TRANSPOSED)
@pytest.mark.parametrize("tile", TILES)
def test_random_shape_between_nans(place, rng, tile, transposed):
    m, n, k = some_shape(rng, 500)
    a_gap, b_gap, c_gap = (int(gap) for gap in rng.integers(0, 40, 3))
    print("shape", m, n, k, "gaps", a_gap, b_gap, c_gap)
    a = poisoned(random_values(rng, (m, k), BF16), a_gap, "a" in transposed)
    b = poisoned(random_values(rng, (k, n), BF16), b_gap, "b" in transposed)
    found = multiply(place, a, b, tile, BF16, c_gap)
    assert_is_product(found, a, b)


@pytest.mark.parametrize("transposed", TRANSPOSED)
@pytest.mark.parametrize("tile", TILES)
def test_tails_of_rows_that_the_copy_engine_takes(place, rng, tile, transposed):
    """Pitches are multiples of 16 bytes, extents are not."""
    m, n, k = (8 * int(extent) for extent in rng.integers(2, 60, 3))
    print("shape", m - 3, n - 5, k - 7)
    shapes = (m - 3, k - 7), (k - 7, n - 5)
    gaps = (3 if "a" in transposed else 7), (7 if "b" in transposed else 5)
    a, b = (
        poisoned(random_values(rng, shape, BF16), gap, name in transposed)
        for shape, gap, name in zip(shapes, gaps, "ab", strict=True)
    )
    found = multiply(place, a, b, tile, BF16, 5)
    assert_is_product(found, a, b)


@pytest.mark.parametrize(
    ("dtype", "output"), [(F16, F16), (F16, F32), (BF16, F32), (E4M3, BF16), (F32, F32), (I8, I32)]
)
@pytest.mark.parametrize("transposed", TRANSPOSED)
def test_types_in_all_orders(place, rng, dtype, output, transposed):
    m, n, k = some_shape(rng, 400)
    print("shape", m, n, k)
    a, b = random_values(rng, (m, k), dtype), random_values(rng, (k, n), dtype)
    item = 16 // dtype.itemsize
    a = poisoned(a, -a.shape["a" not in transposed] % item, "a" in transposed)
    b = poisoned(b, -b.shape["b" not in transposed] % item, "b" in transposed)
    assert_is_product(multiply(place, a, b, (128, 128), output), a, b)


@pytest.mark.parametrize("tile", [(128, 128), (128, 256)])
def test_nan_and_infinities_stay_in_their_rows_and_columns(place, rng, tile):
    m, n, k = 300, 520, 200
    a, b = random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)
    a[17, 190], a[299, 0], a[40, 3], b[199, 5], b[64, 519] = np.nan, np.nan, np.inf, -np.inf, np.inf
    found = double(multiply(place, a, b, tile, BF16))
    with np.errstate(invalid="ignore"):
        expected = double(a) @ double(b)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    clean = product(*(np.where(np.isfinite(double(x)), double(x), 0) for x in (a, b)))
    allowed = clean.error + UNIT[BF16] * np.abs(clean.value)
    assert_within(found[finite], clean.value[finite], allowed[finite])


@pytest.mark.parametrize("tile", [(128, 128), (128, 256), (64, 256)])
@pytest.mark.parametrize("k", [8, 64, 128, 200, 512])
def test_runs_are_equal_bit_by_bit(place, rng, tile, k):
    a, b = random_values(rng, (260, k), BF16), random_values(rng, (k, 520), BF16)
    first, *others = (multiply(place, a, b, tile, F32).tobytes() for _ in range(4))
    assert all(other == first for other in others)


@pytest.mark.parametrize("tile", [(128, 128), (128, 256)])
def test_loops_of_few_turns_over_many_tiles(place, rng, tile):
    """Where queues and turns wrap around at every phase."""
    for turns, columns in itertools.product((1, 2, 3, 5), (1, 3)):
        a = random_values(rng, (tile[0] * 5, 64 * turns), BF16)
        b = random_values(rng, (64 * turns, tile[1] * columns), BF16)
        assert_is_product(multiply(place, a, b, tile, BF16), a, b)
