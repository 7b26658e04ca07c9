"""Reductions against NumPy on the CPU executor."""

import math

import ml_dtypes
import numpy as np
import pytest

import tilec as tl


def reduced(tools, function, x, shape, dtype):
    """``function`` of the whole array as one tile."""

    def kernel(y, x):
        y.store(function(x.load((0,) * x.ndim, tile)))

    tile = x.shape
    y = np.zeros(shape, dtype)
    tools.run(kernel, tools.part(y, shape), x)
    return y


@pytest.mark.parametrize("axis", [0, 1, 2, -1, (0, 2), (1, 2), None])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
def test_reduction_along_axes_as_numpy(tools, name, axis, keepdims):
    x = np.random.default_rng(7).integers(-2, 3, (3, 4, 5)).astype(np.int32)
    expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    dtype = np.bool_ if name in ("any", "all") else np.int32
    ours = getattr(tl, name)
    shape = np.shape(expected) or (1,)
    found = reduced(tools, lambda t: ours(t, axis, keepdims=keepdims), x, shape, dtype)
    np.testing.assert_array_equal(found, np.reshape(expected, shape))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_mean_and_var_as_numpy(tools, axis):
    x = np.random.default_rng(7).standard_normal((6, 7))
    for ours, expected in (
        (lambda t: tl.mean(t, axis), np.mean(x, axis)),
        (lambda t: tl.var(t, axis), np.var(x, axis)),
        (lambda t: tl.var(t, axis, correction=1), np.var(x, axis, ddof=1)),
    ):
        shape = np.shape(expected) or (1,)
        found = reduced(tools, ours, x, shape, np.float64)
        np.testing.assert_allclose(found, np.reshape(expected, shape), rtol=1e-13)


@pytest.mark.parametrize(
    "row",
    [
        [math.inf, math.nan, 0, 0],
        [math.nan, math.inf, 0, 0],
        [math.nan, 6, 8, math.nan],
        [3, 2, 3, 3],
        [-math.inf] * 5,
        [math.nan] * 5,
        [2.5],
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_argmax_argmin_first_among_equals_and_nan(tools, row, dtype):
    x = np.array(row, dtype)
    assert reduced(tools, tl.argmax, x, (1,), np.int32)[0] == np.argmax(x)
    assert reduced(tools, tl.argmin, x, (1,), np.int32)[0] == np.argmin(x)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float32, np.bool_])
def test_argmax_axis_as_numpy(tools, axis, dtype):
    x = np.random.default_rng(7).integers(0, 5, (10, 9)).astype(dtype)
    expected = np.argmax(x, axis)
    shape = np.shape(expected) or (1,)
    found = reduced(tools, lambda t: tl.argmax(t, axis), x, shape, np.int32)
    np.testing.assert_array_equal(found, np.reshape(expected, shape))


def test_argmax_of_padded_row_stays_inside(tools):
    def kernel(y, x):
        y.store(tl.argmax(x.load((0,), (8,), pad=-math.inf)))

    x = np.full(5, -math.inf, np.float32)
    y = np.full(1, 77, np.int64)
    tools.run(kernel, tools.part(y, (1,)), x)
    assert y[0] == 0


@pytest.mark.parametrize("place", [None, 0, 200, "all"])
@pytest.mark.parametrize("propagate", [True, False])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_running_maximum_nan_rule(tools, place, propagate, dtype):
    def kernel(y, x):
        m = -math.inf
        for k in range(x.num_tiles(0, 64)):
            block = tl.max(x.load((k,), (64,)), propagate_nan=propagate)
            m = tl.maximum(m, block, propagate_nan=propagate)
        y.store(m)

    x = np.arange(256).astype(dtype)
    if place is not None:
        x[slice(None) if place == "all" else place] = math.nan
    y = np.zeros(1, dtype)
    tools.run(kernel, tools.part(y, (1,)), x)
    wide = x.astype(np.float64)
    # The literal -inf takes part when NaN is ignored.
    expected = np.max(wide) if propagate else np.fmax.reduce(wide, initial=-math.inf)
    np.testing.assert_array_equal(y.astype(np.float64), [expected])


def test_maximum_ignoring_nan_of_all_nan_is_nan(tools):
    x = np.full(8, math.nan, np.float32)
    found = reduced(tools, lambda t: tl.max(t, propagate_nan=False), x, (1,), np.float32)
    assert math.isnan(found[0])


def test_sum_of_half_accumulates_in_float32(tools):
    x = np.ones(4096, np.float16)
    assert reduced(tools, tl.sum, x, (1,), np.float16)[0] == 4096
    x = np.full(2, 40000, np.float16)
    assert reduced(tools, tl.sum, x, (1,), np.float16)[0] == math.inf
    assert reduced(tools, lambda t: tl.sum(t, dtype=tl.float32), x, (1,), np.float32)[
        0
    ] == pytest.approx(80000, rel=1e-3)


def test_sum_of_int8_in_int32(tools):
    x = np.full(100, 127, np.int8)
    assert reduced(tools, tl.sum, x, (1,), np.int32)[0] == 12700


def test_custom_reduce_one_tile(tools):
    def larger(a, b):
        return a if abs(a) > abs(b) else b

    x = np.array([1, -7, 3, 5], np.int32)
    found = reduced(tools, lambda t: tl.reduce(t, 0, larger, 0), x, (1,), np.int32)
    assert found[0] == -7


def test_custom_reduce_pair_of_tiles(tools):
    """Mean and sum of squared distances, combined as Welford does."""

    def combine(a, b):
        (n, mean, m2), (k, other, o2) = a, b
        total = n + k
        delta = other - mean
        share = tl.where(total > 0, k / tl.maximum(total, 1), 0.0)
        return total, mean + delta * share, m2 + o2 + delta * delta * n * share

    def kernel(y, x):
        t = x.load((0,), (50,))
        n, mean, m2 = tl.reduce((tl.ones((50,), tl.float64), t, t * 0), 0, combine, (0, 0, 0))
        y.store(m2 / n + mean * 0)

    x = np.random.default_rng(7).standard_normal(50)
    y = np.zeros(1)
    tools.run(kernel, tools.part(y, (1,)), x)
    np.testing.assert_allclose(y[0], np.var(x), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: tl.sum(t, axis=2), "sum: axis 2 is out of range for rank 1"),
        (lambda t: tl.sum(t, axis=(0, -1)), "sum: axes (0, -1) repeat"),
        (
            lambda t: tl.reduce((t, t[:, None]), 0, lambda a, b: a, (0, 0)),
            "reduce: tiles must have one shape, found (8,), (8, 1)",
        ),
        (
            lambda t: tl.reduce((t, t), 0, lambda a, b: a, 0),
            "reduce: expected one identity a tile (2), found 1",
        ),
        (
            lambda t: tl.reduce((t, t), 0, lambda a, b: a[0], (0, 0)),
            "reduce: combine must return 2 values, found 1",
        ),
        (
            lambda t: tl.reduce(t, 0, lambda a, b: a > b, 0),
            "reduce: combine must return float32, found a run-time bool",
        ),
        (lambda t: tl.var(t, correction=8), "var: correction 8 leaves nothing to divide by"),
    ],
)
def test_reduction_that_does_not_fit_refused(tools, function, message):
    def kernel(y, x):
        function(x.load_like(y))

    assert (
        tools.error(kernel, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1)).message
        == message
    )
