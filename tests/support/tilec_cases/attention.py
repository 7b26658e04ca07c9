"""Attention written by hand: cases that broke other tile compilers."""

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import assert_within

BF16 = ml_dtypes.bfloat16
TOLERANCE = {np.dtype(np.float16): 2e-3, np.dtype(BF16): 1e-2, np.dtype(np.float32): 1e-5}


@tl.kernel
def attention(o, q, k, v, scale, *, d: tl.Constant[int], tn: tl.Constant[int], keep: tl.Constant):
    i, _ = o.index
    tm, dv = o.tile_shape
    qt = q.load((i, 0), (tm, d))
    acc = tl.zeros((tm, dv), tl.float32)
    m = tl.full((tm, 1), -float("inf"), tl.float32)
    l = tl.zeros((tm, 1), tl.float32)  # noqa: E741
    for n in range(k.num_tiles(0, tn)):
        s = tl.mma(qt, k.T.load((0, n), (d, tn)), tl.zeros((tm, tn), tl.float32)) * scale
        row = i * tm + tl.arange(tm)[:, None]
        column = n * tn + tl.arange(tn)[None, :]
        s = tl.where(keep(row, column), s, -float("inf"))
        m2 = tl.maximum(m, tl.max(s, axis=1, keepdims=True))
        z = tl.where(m2 == -float("inf"), 0.0, m2)
        p, r = tl.exp(s - z), tl.exp(m - z)
        l = l * r + tl.sum(p, axis=1, keepdims=True)  # noqa: E741
        acc = tl.mma(p.to(v.dtype), v.load((n, 0), (tn, dv)), acc * r)
        m = m2
    o.store((acc / l).to(o.dtype))


@tl.kernel
def biased_attention(
    o, q, k, v, bias, scale, *, d: tl.Constant[int], tn: tl.Constant[int], guard: tl.Constant[bool]
):
    i, _ = o.index
    tm, dv = o.tile_shape
    qt = q.load((i, 0), (tm, d))
    acc = tl.zeros((tm, dv), tl.float32)
    m = tl.full((tm, 1), -float("inf"), tl.float32)
    l = tl.zeros((tm, 1), tl.float32)  # noqa: E741
    for n in range(k.num_tiles(0, tn)):
        s = tl.mma(qt, k.T.load((0, n), (d, tn)), tl.zeros((tm, tn), tl.float32)) * scale
        s = s + bias.load((i, n), (tm, tn), pad=-float("inf"))
        m2 = tl.maximum(m, tl.max(s, axis=1, keepdims=True))
        z = m2
        if guard:
            z = tl.where(m2 == -float("inf"), 0.0, m2)
        p, r = tl.exp(s - z), tl.exp(m - z)
        l = l * r + tl.sum(p, axis=1, keepdims=True)  # noqa: E741
        acc = tl.mma(p.to(v.dtype), v.load((n, 0), (tn, dv)), acc * r)
        m = m2
    o.store((acc / l).to(o.dtype))


def reference(q, k, v, scale, bias):
    q, k, v = (t.astype(np.float64) for t in (q, k, v))
    s = q @ k.T * scale + bias
    with np.errstate(invalid="ignore"):
        p = np.exp(s - s.max(1, keepdims=True))
        return p / p.sum(1, keepdims=True) @ v


def operands(rng, lq, lk, d, dv, dtype):
    return [rng.standard_normal(s).astype(dtype) for s in ((lq, d), (lk, d), (lk, dv))]


def check(found, expected, dtype):
    assert_within(found, expected, TOLERANCE[np.dtype(dtype)] * np.nanmax(np.abs(expected)))


# -- key blocks wholly masked by a bias (triton #1273) ---------------------------------------------


@pytest.mark.parametrize("guard", [True, False])
def test_bias_masks_a_whole_first_block(place, rng, guard):
    q, k, v = operands(rng, 128, 128, 64, 64, np.float16)
    bias = np.zeros((128, 128), np.float32)
    for row in range(128):
        bias[row, : rng.integers(1, 128)] = -np.inf
    hidden = np.isinf(bias[:, :32]).all(1)
    assert hidden.any()
    o = place.output((128, 64), np.float16)
    biased_attention(
        tl.partition(o.array, (64, 64)), *map(place.array, (q, k, v, bias)), 0.125,
        d=64, tn=32, guard=guard,
    )  # fmt: skip
    found = o.read()
    expected = reference(q, k, v, 0.125, bias)
    if not guard:
        np.testing.assert_array_equal(np.isnan(found).all(1), hidden)
        np.testing.assert_array_equal(np.isnan(found).any(1), hidden)
        expected[hidden] = np.nan
    check(found, expected, np.float16)


# -- causal masks aligned at the bottom right (flash-attention PR 436) -----------------------------


@pytest.mark.parametrize(("lq", "lk"), [(5, 6), (65, 130), (130, 65), (1, 77), (64, 64)])
@pytest.mark.parametrize(("tm", "tn"), [(64, 32), (32, 64), (128, 16)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_causal_mask_with_unequal_lengths(place, rng, lq, lk, tm, tn, dtype):
    q, k, v = operands(rng, lq, lk, 32, 32, dtype)

    def keep(row, column):
        return (column <= row + (lk - lq)) & (column < lk)

    o = place.output((lq, 32), dtype)
    attention(
        tl.partition(o.array, (tm, 32)), *map(place.array, (q, k, v)), 0.25,
        d=32, tn=tn, keep=keep,
    )  # fmt: skip
    row, column = np.indices((lq, lk))
    bias = np.where(column <= row + (lk - lq), 0.0, -np.inf)
    check(o.read(), reference(q, k, v, 0.25, bias), dtype)


# -- head dimensions of every kind (triton #621, pytorch PR 164931) --------------------------------


@pytest.mark.parametrize(
    ("d", "dv"), [(16, 16), (80, 80), (96, 96), (128, 128), (192, 192), (192, 128), (96, 64)]
)
def test_head_dimensions_of_any_extent(place, rng, d, dv):
    q, k, v = operands(rng, 96, 100, d, dv, BF16)

    def keep(row, column):
        return column < 100

    o = place.output((96, dv), np.float32)
    attention(
        tl.partition(o.array, (64, dv)), *map(place.array, (q, k, v)), d**-0.5,
        d=d, tn=64, keep=keep,
    )  # fmt: skip
    check(o.read(), reference(q, k, v, np.float64(np.float32(d**-0.5)), 0.0), BF16)
