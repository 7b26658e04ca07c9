"""Tiles that the plan chooses: whatever they are, the results are right."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilec as tl
from tilec_cases.checks import BF16, assert_exact, assert_product, assert_within, double

few = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def normal(rng, *shape, dtype=BF16):
    return rng.standard_normal(shape).astype(dtype)


# -- kernels without products ------------------------------------------------------------------


@tl.kernel
def doubled(y, z, x):
    t = x.load_like(y)
    y.store(t + t)
    z.store(-t)


@pytest.mark.parametrize("shape", [(), (1,), (4097,), (130, 7), (3, 1185), (2, 3, 129), (1, 1, 1)])
def test_outputs_of_one_shape_share_the_tile(place, rng, shape):
    x = normal(rng, *shape, dtype=np.float32).reshape(shape)
    y, z = place.output(shape, np.float32), place.output(shape, np.float32)
    doubled(tl.partition(y.array, tl.AUTO), tl.partition(z.array, tl.AUTO), place.array(x))
    assert_exact(y.read(), x + x)
    assert_exact(z.read(), -x)


@tl.kernel
def centered(y, x):
    row = x.load_like(y).to(tl.float32)
    y.store(row - tl.max(row, axis=-1, keepdims=True))


@pytest.mark.parametrize("shape", [(1, 1), (5, 1953), (300, 40), (2, 12288)])
def test_reduced_rows_are_whole(place, rng, shape):
    x = normal(rng, *shape, dtype=np.float32)
    y = place.output(shape, np.float32)
    centered(tl.partition(y.array, tl.AUTO), place.array(x))
    assert_exact(y.read(), x - x.max(-1, keepdims=True))


@tl.kernel
def flipped(y, x):
    i, j = y.index
    tm, tn = y.tile_shape
    y.store(x.load((j, i), (tn, tm)).T)


@few
@given(st.integers(1, 300), st.integers(1, 300))
def test_transposition_of_any_shape(place, m, n):
    x = np.arange(m * n, dtype=np.int32).reshape(n, m)
    y = place.output((m, n), np.int32)
    flipped(tl.partition(y.array, tl.AUTO), place.array(x))
    assert_exact(y.read(), x.T)


# -- products ----------------------------------------------------------------------------------


def walk(a, b, m, n, shape, tk):
    tm, tn = shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((m, k), (tm, tk)), b.load((k, n), (tk, tn)), acc)
    return acc


@tl.kernel
def product(c, a, b, *, tk: tl.Constant[int] = 64):
    m, n = c.index
    c.store(walk(a, b, m, n, c.tile_shape, tk).to(c.dtype))


SHAPES = [
    *((1, 1, 1), (1, 512, 64), (512, 1, 64), (64, 72, 0), (40, 56, 33), (255, 129, 77)),
    *((200, 328, 136), (130, 264, 128), (384, 520, 72), (1000, 96, 64), (72, 1000, 200)),
]


def check_product(place, a, b, dtype=np.float32, **constants):
    c = place.output((a.shape[0], b.shape[1]), dtype)
    product(tl.partition(c.array, tl.AUTO), place.array(a), place.array(b), **constants)
    assert_product(c.read(), a, b)


@pytest.mark.parametrize("dtype", [np.float16, BF16])
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_product_of_any_shape(place, rng, dtype, m, n, k):
    check_product(place, normal(rng, m, k, dtype=dtype), normal(rng, k, n, dtype=dtype), dtype)


@few
@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_product_whose_rows_tma_can_describe(place, m, n, k, seed):
    rng = np.random.default_rng(seed)
    check_product(place, normal(rng, 8 * m, 8 * k), normal(rng, 8 * k, 8 * n), BF16)


@pytest.mark.parametrize("order", ["ab", "Ab", "aB", "AB"])
@pytest.mark.parametrize("shape", [(256, 320, 192), (200, 136, 72)])
def test_product_of_operands_stored_by_columns(place, rng, shape, order):
    m, n, k = shape
    a, b = normal(rng, m, k), normal(rng, k, n)
    a = np.asfortranarray(a) if "A" in order else a
    b = np.asfortranarray(b) if "B" in order else b
    check_product(place, a, b, BF16)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.float8_e4m3fn])
def test_product_of_other_elements(place, rng, dtype):
    a, b = normal(rng, 200, 130, dtype=dtype), normal(rng, 130, 96, dtype=dtype)
    check_product(place, a, np.asfortranarray(b), tk=32)


@tl.kernel
def fused(c, a, b, bias, residual, *, tk: tl.Constant[int] = 64):
    m, n = c.index
    acc = walk(a, b, m, n, c.tile_shape, tk)
    acc = acc + bias.load((0, n), (1, c.tile_shape[1])).to(tl.float32)
    c.store(tl.maximum(acc, 0.0) + residual.load_like(c))


@pytest.mark.parametrize("shape", [(256, 384, 128), (130, 200, 72), (33, 65, 40)])
def test_product_with_bias_activation_and_residual(place, rng, shape):
    m, n, k = shape
    a, b, bias = normal(rng, m, k), normal(rng, k, n), normal(rng, 1, n)
    residual = normal(rng, m, n, dtype=np.float32)
    c = place.output((m, n), np.float32)
    operands = map(place.array, (a, b, bias, residual))
    fused(tl.partition(c.array, tl.AUTO), *operands)
    exact = np.maximum(double(a) @ double(b) + double(bias), 0) + residual
    size = np.abs(double(a)) @ np.abs(double(b)) + np.abs(double(bias)) + np.abs(residual)
    assert_within(c.read(), exact, 4 * (k + 2) * 2.0**-24 * size)


@tl.kernel
def gated(c, a, b, d, *, tk: tl.Constant[int] = 64):
    m, n = c.index
    tm, tn = c.tile_shape
    acc = gate = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        left = a.load((m, k), (tm, tk))
        acc = tl.mma(left, b.load((k, n), (tk, tn)), acc)
        gate = tl.mma(left, d.load((k, n), (tk, tn)), gate)
    c.store(tl.where(gate > 0.0, acc, 0.0))


@pytest.mark.parametrize("shape", [(256, 320, 128), (100, 72, 136)])
def test_two_products_with_a_gate_between(place, rng, shape):
    m, n, k = shape
    # Small integers: the gate's sign is exact.
    a, b, d = (rng.integers(-4, 5, s).astype(BF16) for s in ((m, k), (k, n), (k, n)))
    c = place.output((m, n), np.float32)
    gated(tl.partition(c.array, tl.AUTO), *map(place.array, (a, b, d)))
    assert_exact(c.read(), np.where(double(a) @ double(d) > 0, double(a) @ double(b), 0.0))


@tl.kernel
def batched(c, a, b, *, tk: tl.Constant[int] = 64):
    g, m, n = c.index
    _, tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(2, tk)):
        left = a.load((g, m, k), (1, tm, tk)).reshape(tm, tk)
        acc = tl.mma(left, b.load((g, k, n), (1, tk, tn)).reshape(tk, tn), acc)
    c.store(acc.reshape(1, tm, tn))


@pytest.mark.parametrize("shape", [(3, 64, 96, 128), (2, 130, 72, 40)])
def test_batched_product(place, rng, shape):
    batch, m, n, k = shape
    a, b = normal(rng, batch, m, k), normal(rng, batch, k, n)
    c = place.output((batch, m, n), np.float32)
    batched(tl.partition(c.array, tl.AUTO), place.array(a), place.array(b))
    assert_product(c.read(), a, b)
