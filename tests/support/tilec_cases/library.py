"""The kernel library against float64 references."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilec as tl
from tilec import kernels
from tilec_cases.checks import (
    BF16,
    F64,
    TINY,
    UNIT,
    assert_exact,
    assert_product,
    assert_within,
    double,
)

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
ROWS = [(1, 1), (3, 1185), (5, 1953), (2, 12288), (17, 31), (64, 64), (1, 4099), (130, 7)]
COMPUTE_UNIT = {True: 2.0**-53, False: 2.0**-24}
fresh = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def compute_unit(dtype):
    return COMPUTE_UNIT[np.dtype(dtype) == F64]


def rounding(dtype, reference):
    kind = np.dtype(dtype)
    return UNIT[kind] * np.abs(reference) + TINY[kind]


def run(place, function, shape, dtype, *arrays, **keywords):
    output = place.output(shape, dtype)
    function(output.array, *map(place.array, arrays), **keywords)
    return output.read()


# -- add ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.int32, np.int64, np.uint8, np.uint32])
@pytest.mark.parametrize("shape", [(1,), (4097,), (3, 1185), (2, 3, 129)])
def test_add_any_shape_is_the_rounded_sum(place, rng, dtype, shape):
    x, y = ((rng.standard_normal(shape) * 50).astype(np.int64).astype(dtype) for _ in range(2))
    with np.errstate(over="ignore"):
        assert_exact(run(place, kernels.add, shape, dtype, x, y), x + y)


@fresh
@given(st.lists(st.integers(1, 67), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_add_random_shapes_covers_every_element(place, shape, seed):
    x, y = np.random.default_rng(seed).standard_normal((2, *shape)).astype(np.float32)
    assert_exact(run(place, kernels.add, shape, np.float32, x, y), x + y)


# -- softmax -----------------------------------------------------------------------------------


def check_softmax(place, x):
    found = run(place, kernels.softmax, x.shape, x.dtype, x)
    wide = double(x)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    reference = e / e.sum(-1, keepdims=True)
    spread = 32 + np.ptp(wide, axis=-1, keepdims=True)
    allowed = 2 * spread * compute_unit(x.dtype) * reference + rounding(x.dtype, reference)
    assert_within(found, reference, allowed)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", ROWS)
def test_softmax_odd_rows_match_float64(place, rng, dtype, shape):
    check_softmax(place, (rng.standard_normal(shape) * 3).astype(dtype))


@fresh
@given(st.integers(1, 40), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_softmax_random_shapes_match_float64(place, rows, columns, seed):
    x = np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)
    check_softmax(place, x)


def test_softmax_large_values_do_not_overflow(place):
    x = np.array([[1e4, 1e4, -1e4], [-np.inf, 0.0, -np.inf]], np.float32)
    found = run(place, kernels.softmax, x.shape, x.dtype, x)
    assert_exact(found, [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]])


def test_softmax_nan_stays_in_its_row(place, rng):
    x = rng.standard_normal((6, 100)).astype(np.float32)
    x[2, 7] = np.nan
    found = run(place, kernels.softmax, x.shape, x.dtype, x)
    assert np.isnan(found[2]).all()
    assert not np.isnan(np.delete(found, 2, 0)).any()


# -- norms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", ROWS)
def test_layernorm_odd_rows_match_float64(place, rng, dtype, shape):
    x = (rng.standard_normal(shape) * 2 + 1).astype(dtype)
    weight, bias = (rng.standard_normal(shape[1]).astype(dtype) for _ in range(2))
    found = run(place, kernels.layernorm, shape, dtype, x, weight, bias, eps=1e-3)
    wide = double(x)
    centered = wide - wide.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centered**2).mean(-1, keepdims=True) + np.float64(np.float32(1e-3)))
    reference = centered * scale * double(weight) + double(bias)
    size = (np.abs(wide) + 1) * scale * np.abs(double(weight)) + np.abs(double(bias))
    allowed = 64 * compute_unit(dtype) * size + rounding(dtype, reference)
    assert_within(found, reference, allowed)


def test_layernorm_large_mean_keeps_its_digits(place, rng):
    x = (rng.standard_normal((4, 1000)) + 1e4).astype(np.float32)
    ones, zeros = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    found = run(place, kernels.layernorm, x.shape, x.dtype, x, ones, zeros)
    wide = double(x)
    centered = wide - wide.mean(-1, keepdims=True)
    assert_within(found, centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5), 5e-3)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", ROWS)
def test_rmsnorm_odd_rows_match_float64(place, rng, dtype, shape):
    x = (rng.standard_normal(shape) * 2).astype(dtype)
    weight = rng.standard_normal(shape[1]).astype(dtype)
    found = run(place, kernels.rmsnorm, shape, dtype, x, weight, eps=1e-3)
    wide = double(x)
    scale = 1 / np.sqrt((wide**2).mean(-1, keepdims=True) + np.float64(np.float32(1e-3)))
    reference = wide * scale * double(weight)
    allowed = 64 * compute_unit(dtype) * np.abs(reference) + rounding(dtype, reference)
    assert_within(found, reference, allowed)


# -- matmul ------------------------------------------------------------------------------------

SHORT_FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32]
PRODUCTS = [(1, 1, 1), (128, 128, 64), (129, 33, 65), (1, 200, 97), (200, 1, 5), (67, 131, 300)]


@pytest.mark.parametrize("dtype", SHORT_FLOATS)
@pytest.mark.parametrize(("m", "n", "k"), PRODUCTS)
def test_matmul_odd_sizes_match_float64(place, rng, dtype, m, n, k):
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
    assert_product(run(place, kernels.matmul, (m, n), dtype, a, b), a, b)


@pytest.mark.parametrize("dtype", SHORT_FLOATS)
@pytest.mark.parametrize("transposed", ["a", "b", "ab"])
def test_matmul_transposed_operands_match_float64(place, rng, dtype, transposed):
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((70, 90), (90, 50)))
    if "a" in transposed:
        a = np.asfortranarray(a)
    if "b" in transposed:
        b = np.asfortranarray(b)
    assert_product(run(place, kernels.matmul, (70, 50), np.float32, a, b), a, b)


@fresh
@given(*(st.integers(1, 150) for _ in range(3)), st.integers(0, 2**32 - 1))
def test_matmul_random_shapes_match_float64(place, m, n, k, seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal(shape).astype(BF16) for shape in ((m, k), (k, n)))
    assert_product(run(place, kernels.matmul, (m, n), np.float32, a, b), a, b)


def test_matmul_empty_inner_dimension_gives_zero(place):
    a, b = np.zeros((20, 0), np.float32), np.zeros((0, 30), np.float32)
    assert_exact(run(place, kernels.matmul, (20, 30), np.float32, a, b), np.zeros((20, 30)))


def test_matmul_nan_and_inf_reach_only_their_row_and_column(place, rng):
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((40, 48), (48, 56)))
    a[3, 5], b[7, 11] = np.nan, np.inf
    found = run(place, kernels.matmul, (40, 56), np.float32, a, b)
    with np.errstate(invalid="ignore"):
        reference = double(a) @ double(b)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(reference))


# -- transpose and sums ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.int64])
@pytest.mark.parametrize("shape", [(1, 1), (64, 64), (65, 63), (1, 200), (131, 257)])
def test_transpose_odd_shapes_moves_every_element(place, rng, dtype, shape):
    x = (rng.standard_normal(shape) * 50).astype(np.int64).astype(dtype)
    assert_exact(run(place, kernels.transpose, shape[::-1], dtype, x), x.T)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [*ROWS, (1185, 70)])
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_odd_shapes_match_float64(place, rng, dtype, shape, axis):
    x = rng.standard_normal(shape).astype(dtype)
    function = kernels.column_sum if axis == 0 else kernels.row_sum
    found = run(place, function, x.shape[1 - axis], dtype, x)
    reference = double(x).sum(axis)
    size = np.abs(double(x)).sum(axis)
    allowed = 2 * shape[axis] ** 0.5 * compute_unit(dtype) * size + rounding(dtype, reference)
    assert_within(found, reference, allowed)


@pytest.mark.parametrize("function", [kernels.row_sum, kernels.column_sum])
def test_sums_empty_axis_give_zero(place, function):
    shape = (5, 0) if function is kernels.row_sum else (0, 5)
    found = run(place, function, 5, np.float32, np.zeros(shape, np.float32))
    assert_exact(found, np.zeros(5, np.float32))


# -- refusals ----------------------------------------------------------------------------------


def zeros(place, *shape):
    return place.array(np.zeros(shape, np.float32))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda z: kernels.add(z(4), z(4), z(5)), "y must have shape (4,), found (5,)"),
        (lambda z: kernels.softmax(z(4), z(4)), "y must have rank 2, found shape (4,)"),
        (lambda z: kernels.softmax(z(4, 2), z(2, 4)), "x must have shape (4, 2), found (2, 4)"),
        (lambda z: kernels.layernorm(z(4, 2), z(4, 2), z(4), z(2)),
         "weight must have shape (2,), found (4,)"),
        (lambda z: kernels.rmsnorm(z(4, 2), z(4, 2), z(3)),
         "weight must have shape (2,), found (3,)"),
        (lambda z: kernels.matmul(z(4, 2), z(4, 3), z(4, 2)),
         "b must have shape (3, 2), found (4, 2)"),
        (lambda z: kernels.matmul(z(4), z(4, 3), z(3)),
         "c must be a matrix or a stack of matrices, found shape (4,)"),
        (lambda z: kernels.matmul(z(4, 2), z(1, 4, 2), z(2, 2)),
         "a must have shape (4, 2), found (1, 4, 2)"),
        (lambda z: kernels.matmul(z(5, 4, 2), z(5, 4, 3), z(3, 2)),
         "b must have shape (5, 3, 2), found (3, 2)"),
        (lambda z: kernels.linear(z(5, 4, 2), z(5, 4, 3), z(5, 3, 2)),
         "y must have rank 2, found shape (5, 4, 2)"),
        (lambda z: kernels.linear(z(4, 2), z(4, 3), z(3, 2), z(4)),
         "bias must have shape (2,), found (4,)"),
        (lambda z: kernels.linear(z(4, 2), z(4, 3), z(3, 2), residual=z(2)),
         "residual must have shape (4, 2), found (2,)"),
        (lambda z: kernels.linear(z(4, 2), z(4, 3), z(3, 2), activation="tanh"),
         "activation must be one of gelu, relu, silu or a function, found 'tanh'"),
        (lambda z: kernels.transpose(z(4, 2), z(4, 2)), "x must have shape (2, 4), found (4, 2)"),
        (lambda z: kernels.row_sum(z(4), z(2, 4)), "y must have shape (2,), found (4,)"),
        (lambda z: kernels.column_sum(z(4), z(4, 2)), "y must have shape (2,), found (4,)"),
    ],
)  # fmt: skip
def test_kernels_mismatched_shapes_refused(place, call, text):
    with pytest.raises(tl.LaunchError) as error:
        call(lambda *shape: zeros(place, *shape))
    assert error.value.message == text
