"""Matrix products: cases that broke other tile compilers."""

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import assert_exact, assert_product

BF16 = ml_dtypes.bfloat16


@tl.kernel
def mm(c, a, b, *, tk: tl.Constant[int], acc_t: tl.Constant = tl.float32):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), acc_t)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


def normal(rng, shape, dtype):
    return rng.standard_normal(shape).astype(dtype)


# -- two products into one accumulator (triton #10821) ---------------------------------------------


@tl.kernel
def two_products(c, a1, b1, a2, b2, *, tk: tl.Constant[int]):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a1.num_tiles(1, tk)):
        acc = tl.mma(a1.load((i, k), (tm, tk)), b1.load((k, j), (tk, tn)), acc)
        acc = tl.mma(a2.load((i, k), (tm, tk)), b2.load((k, j), (tk, tn)), acc)
    c.store(acc)


@pytest.mark.parametrize("dtype", [np.float32, BF16])
@pytest.mark.parametrize("tm", [16, 64, 128])
def test_two_products_into_one_accumulator_add_up(place, rng, dtype, tm):
    operands = [normal(rng, (256, 256), dtype) for _ in range(4)]
    c = place.output((256, 256), np.float32)
    two_products(tl.partition(c.array, (tm, 128)), *map(place.array, operands), tk=32)
    assert_product(c.read(), *operands[:2], tuple(operands[2:]))


# -- inner tiles that no instruction divides (tilelang #2381) --------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, BF16])
@pytest.mark.parametrize(("k", "tk"), [(n, n) for n in (24, 40, 56, 8, 1, 17)] + [(100, 24)])
def test_inner_tile_of_any_extent_keeps_its_tail(place, rng, dtype, k, tk):
    a, b = normal(rng, (64, k), dtype), normal(rng, (k, 64), dtype)
    c = place.output((64, 64), np.float32)
    mm(tl.partition(c.array, (64, 64)), place.array(a), place.array(b), tk=tk)
    assert_product(c.read(), a, b)


# -- f32 is f32 (triton #1840, #2843, #5895) -------------------------------------------------------


@pytest.mark.parametrize("transposed", ["", "a", "b"])
def test_f32_operands_are_not_rounded(place, rng, transposed):
    a, b = normal(rng, (64, 64), np.float32), normal(rng, (64, 64), np.float32)
    if transposed == "a":
        a = np.asfortranarray(a)
    if transposed == "b":
        b = np.asfortranarray(b)
    c = place.output((64, 64), np.float32)
    mm(tl.partition(c.array, (64, 64)), place.array(a), place.array(b), tk=64)
    assert_product(c.read(), a, b)


@tl.kernel
def mm_of_transposed(c, a, b, *, tk: tl.Constant[int]):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.T.load((k, j), (tk, tn)), acc)
    c.store(acc)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_transposed_view_of_the_right_operand(place, rng, dtype):
    a, b = normal(rng, (70, 90), dtype), normal(rng, (50, 90), dtype)
    c = place.output((70, 50), np.float32)
    mm_of_transposed(tl.partition(c.array, (32, 32)), place.array(a), place.array(b), tk=32)
    assert_product(c.read(), a, b.T)


# -- chained products (openxla-xla #19780, helion #3472) -------------------------------------------


@tl.kernel
def chained(o, q, k, v):
    i, j = o.index
    tm, tn = o.tile_shape
    s = tl.mma(q.load((i, 0), (tm, 128)), k.load((0, 0), (128, 64)), tl.zeros((tm, 64), tl.float32))
    o.store(tl.mma(s.to(tl.bfloat16), v.load((0, j), (64, tn)), tl.zeros((tm, tn), tl.float32)))


@pytest.mark.parametrize("m", [32, 64, 128])
def test_chained_products_of_ones_are_exact(place, m):
    q, k, v = (np.ones(s, BF16) for s in ((m, 128), (128, 64), (64, 128)))
    o = place.output((m, 128), np.float32)
    chained(tl.partition(o.array, (m, 128)), *map(place.array, (q, k, v)))
    assert_exact(o.read(), np.full((m, 128), 8192.0, np.float32))


@pytest.mark.parametrize("m", [32, 64, 128])
def test_chained_products_of_random_values(place, rng, m):
    q, k, v = (normal(rng, s, BF16) for s in ((m, 128), (128, 64), (64, 128)))
    o = place.output((m, 128), np.float32)
    chained(tl.partition(o.array, (m, 128)), *map(place.array, (q, k, v)))
    exact = (q.astype(np.float64) @ k.astype(np.float64)).astype(BF16)
    # The intermediate may round to a neighbour of the reference's.
    slack = 2.0**-7 * np.abs(exact.astype(np.float64)) @ np.abs(v.astype(np.float64))
    assert (np.abs(o.read() - exact.astype(np.float64) @ v.astype(np.float64)) <= slack).all()


# -- ragged in every dimension (warp #451, jax #26684) ---------------------------------------------


@pytest.mark.parametrize(
    ("shape", "tile", "dtype"),
    [
        ((100, 150, 50), (8, 8, 4), np.float32),
        ((33, 130, 65), (32, 64, 48), np.float16),
        ((64, 64, 952), (32, 32, 952), np.float16),
        ((1, 1, 7), (16, 16, 16), BF16),
    ],
)
@pytest.mark.parametrize("gap", [0, 5])
def test_ragged_products_leave_their_neighbours_alone(place, rng, shape, tile, dtype, gap):
    (m, n, k), (tm, tn, tk) = shape, tile
    a, b = normal(rng, (m, k), dtype), normal(rng, (k, n), dtype)
    c = place.output((m, n), np.float32, gap_elems=gap)
    mm(tl.partition(c.array, (tm, tn)), place.array(a), place.array(b), tk=tk)
    assert_product(c.read(), a, b)


# -- N congruent to 8 modulo 16, and small extents (tilelang #2603) --------------------------------


@pytest.mark.parametrize("n", [8, 24, 40, 72, 136])
@pytest.mark.parametrize("dtype", [np.float16, BF16])
def test_columns_of_eight_beyond_sixteen(place, rng, n, dtype):
    a, b = normal(rng, (64, 64), dtype), normal(rng, (64, n), dtype)
    c = place.output((64, n), np.float32)
    mm(tl.partition(c.array, (64, n)), place.array(a), place.array(b), tk=32)
    assert_product(c.read(), a, b)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_integer_products_are_exact(place, rng, dtype):
    limits = np.iinfo(dtype)
    a, b = (rng.integers(limits.min, limits.max, s, dtype, True) for s in ((48, 80), (80, 40)))
    c = place.output((48, 40), np.int32)
    mm(tl.partition(c.array, (16, 16)), place.array(a), place.array(b), tk=32, acc_t=tl.int32)
    assert_exact(c.read(), a.astype(np.int32) @ b.astype(np.int32))
