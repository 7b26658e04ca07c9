"""The library's matrix products, for every element type, stacked, and with what may follow them."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec import kernels
from tilec_cases.checks import (
    BF16,
    F64,
    FP8_SUM,
    TINY,
    UNIT,
    assert_exact,
    assert_product,
    assert_within,
    double,
)

E4M3, E5M2 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
F16, F32 = np.dtype(np.float16), np.dtype(np.float32)
#: (m, n, k): one element, whole tiles, odd everywhere, rows and columns alone, several steps.
PRODUCTS = [(1, 1, 1), (128, 128, 128), (129, 33, 65), (1, 200, 97), (200, 1, 5), (67, 136, 300)]
TF32_UNIT = 2.0**-11


def run(place, function, shape, dtype, *arrays, **keywords):
    output = place.output(shape, dtype)
    function(output.array, *map(place.array, arrays), **keywords)
    return output.read()


def normal(rng, dtype, *shapes):
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def sizes(a, b):
    return np.abs(double(a)) @ np.abs(double(b))


# -- element types ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "n", "k"), PRODUCTS)
@pytest.mark.parametrize("column_major", [False, True])
@pytest.mark.parametrize(("left", "right"), [("i1", "i1"), ("u1", "u1"), ("u1", "i1")])
def test_integers_multiply_exactly(place, rng, m, n, k, column_major, left, right):
    a, b = (
        rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind, endpoint=True)
        for kind, shape in ((left, (m, k)), (right, (k, n)))
    )
    b = np.asfortranarray(b) if column_major else b
    found = run(place, kernels.matmul, (m, n), np.int32, a, b)
    assert_exact(found, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize(("m", "n", "k"), PRODUCTS)
@pytest.mark.parametrize("column_major", [False, True])
@pytest.mark.parametrize(("left", "right"), [(E4M3, E4M3), (E5M2, E5M2), (E4M3, E5M2)])
@pytest.mark.parametrize("result", [BF16, F32])
def test_eight_bit_floats_multiply_in_f32(place, rng, m, n, k, column_major, left, right, result):
    a, b = rng.standard_normal((m, k)).astype(left), rng.standard_normal((k, n)).astype(right)
    b = np.asfortranarray(b) if column_major else b
    found = run(place, kernels.matmul, (m, n), result, a, b)
    exact = double(a) @ double(b)
    assert_within(found, exact, FP8_SUM * sizes(a, b) + UNIT[result] * np.abs(exact))


@pytest.mark.parametrize(("m", "n", "k"), PRODUCTS)
@pytest.mark.parametrize("column_major", [False, True])
def test_tf32_is_taken_when_allowed(place, rng, m, n, k, column_major):
    a, b = normal(rng, F32, (m, k), (k, n))
    b = np.asfortranarray(b) if column_major else b
    found = run(place, kernels.matmul, (m, n), F32, a, b, allow_tf32=True)
    # Hardware may drop the low digits instead of rounding, of both operands.
    assert_within(found, double(a) @ double(b), 4 * TF32_UNIT * sizes(a, b))


def test_tf32_is_not_taken_unless_allowed(place):
    # Exact in f32, not in tf32: 1 + 2**-20 loses its last digit.
    a = np.full((16, 32), 1 + 2.0**-20, np.float32)
    b = np.eye(32, 16, dtype=np.float32)
    assert_exact(run(place, kernels.matmul, (16, 16), F32, a, b), a[:, :16])


@pytest.mark.parametrize(("m", "n", "k"), PRODUCTS)
def test_f64_multiplies_in_f64(place, rng, m, n, k):
    a, b = normal(rng, F64, (m, k), (k, n))
    found = run(place, kernels.matmul, (m, n), F64, a, b)
    assert_within(found, a @ b, 4 * k * 2.0**-53 * sizes(a, b))


@pytest.mark.parametrize("result", [BF16, F16, F32])
@pytest.mark.parametrize("dtype", [BF16, F16])
def test_result_may_have_another_dtype(place, rng, dtype, result):
    a, b = normal(rng, dtype, (70, 90), (90, 50))
    assert_product(run(place, kernels.matmul, (70, 50), result, a, b), a, b)


# -- stacks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "n", "k"), PRODUCTS)
@pytest.mark.parametrize("batch", [1, 3])
def test_stack_of_products_multiplies_each(place, rng, batch, m, n, k):
    a, b = normal(rng, BF16, (batch, m, k), (batch, k, n))
    assert_product(run(place, kernels.matmul, (batch, m, n), F32, a, b), a, b)


@pytest.mark.parametrize("transposed", ["a", "b", "ab"])
def test_stack_of_transposed_operands(place, rng, transposed):
    a = rng.standard_normal((4, 48, 72) if "a" in transposed else (4, 72, 48)).astype(F16)
    b = rng.standard_normal((4, 40, 48) if "b" in transposed else (4, 48, 40)).astype(F16)
    a = a.swapaxes(1, 2) if "a" in transposed else a
    b = b.swapaxes(1, 2) if "b" in transposed else b
    assert_product(run(place, kernels.matmul, (4, 72, 40), F32, a, b), a, b)


def test_stack_of_integers_multiplies_exactly(place, rng):
    a, b = (rng.integers(-128, 128, shape, "i1") for shape in ((3, 33, 130), (3, 130, 17)))
    found = run(place, kernels.matmul, (3, 33, 17), np.int32, a, b)
    assert_exact(found, a.astype(np.int32) @ b.astype(np.int32))


def test_stack_of_tf32(place, rng):
    a, b = normal(rng, F32, (2, 40, 50), (2, 50, 24))
    found = run(place, kernels.matmul, (2, 40, 24), F32, a, b, allow_tf32=True)
    assert_within(found, double(a) @ double(b), 4 * TF32_UNIT * sizes(a, b))


@pytest.mark.parametrize("shape", [(0, 8, 8), (3, 0, 8), (3, 8, 0)])
def test_empty_stack_is_nothing_to_do(place, shape):
    batch, m, n = shape
    a, b = np.zeros((batch, m, 16), F32), np.zeros((batch, 16, n), F32)
    assert run(place, kernels.matmul, shape, F32, a, b).shape == shape


def test_stack_with_empty_inner_dimension_gives_zero(place):
    a, b = np.zeros((2, 20, 0), F32), np.zeros((2, 0, 30), F32)
    assert_exact(run(place, kernels.matmul, (2, 20, 30), F32, a, b), np.zeros((2, 20, 30)))


# -- linear layers ---------------------------------------------------------------------------------


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


REFERENCES = {
    None: lambda x: x,
    "gelu": gelu,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
}
STEEPEST = 1.2
"""The slope of every activation is less: errors grow by no more."""


def check_linear(place, x, weight, bias, activation, residual, result=BF16):
    m, n = x.shape[0], weight.shape[1]
    output = place.output((m, n), result)
    kernels.linear(
        output.array,
        place.array(x),
        place.array(weight),
        None if bias is None else place.array(bias),
        activation=activation,
        residual=None if residual is None else place.array(residual),
    )
    inner = double(x) @ double(weight) + (0 if bias is None else double(bias))
    size = sizes(x, weight) + (0 if bias is None else np.abs(double(bias)))
    exact = REFERENCES[activation](inner) + (0 if residual is None else double(residual))
    allowed = STEEPEST * (4 * x.shape[1] + 8) * 2.0**-24 * size
    allowed = allowed + 2.0**-20 * (np.abs(inner) + np.abs(exact)) + UNIT[result] * np.abs(exact)
    assert_within(output.read(), exact, allowed + TINY[result])


@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 1, 1), (128, 128, 64), (130, 33, 97), (67, 136, 300)]
)
@pytest.mark.parametrize("activation", REFERENCES)
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("with_residual", [False, True])
def test_linear_matches_float64(place, rng, m, n, k, activation, with_bias, with_residual):
    x, weight, bias, residual = normal(rng, BF16, (m, k), (k, n), (n,), (m, n))
    check_linear(
        place, x, weight, bias if with_bias else None, activation,
        residual if with_residual else None,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize("activation", ["gelu", "silu"])
def test_linear_of_other_floats(place, rng, dtype, activation):
    x, weight, bias, residual = normal(rng, dtype, (40, 70), (70, 50), (50,), (40, 50))
    check_linear(place, x, np.asfortranarray(weight), bias, activation, residual, dtype)


def test_linear_of_eight_bit_floats(place, rng):
    x, weight = rng.standard_normal((40, 70)).astype(E4M3), rng.standard_normal((70, 50))
    weight = np.asfortranarray(weight.astype(E4M3))
    (bias,) = normal(rng, BF16, (50,))
    found = run(place, kernels.linear, (40, 50), F32, x, weight, bias)
    assert_within(
        found, double(x) @ double(weight) + double(bias), FP8_SUM * sizes(x, weight) + 2.0**-20
    )


def test_linear_takes_any_activation(place):
    x, weight = np.eye(8, dtype=F32), np.arange(64, dtype=F32).reshape(8, 8) - 30
    found = run(place, kernels.linear, (8, 8), F32, x, weight, activation=lambda t: t * t)
    assert_exact(found, weight * weight)


def test_linear_without_inner_dimension_is_its_bias(place):
    x, weight, bias = np.zeros((5, 0), F32), np.zeros((0, 3), F32), np.array([1, -2, 3], F32)
    found = run(place, kernels.linear, (5, 3), F32, x, weight, bias, activation="relu")
    assert_exact(found, np.tile(np.array([1, 0, 3], F32), (5, 1)))


@pytest.mark.parametrize("activation", ["gelu", "relu", "silu"])
def test_activations_of_large_values_are_themselves_or_zero(place, activation):
    x = np.array([[1e4, -1e4, 0.0, 60.0]], F32)
    found = run(place, kernels.linear, (1, 4), F32, x, np.eye(4, dtype=F32), activation=activation)
    np.testing.assert_allclose(found, [[1e4, 0.0, 0.0, 60.0]], rtol=1e-6, atol=1e-30)


def test_wrong_dtypes_are_refused_while_tracing(place):
    a, b = np.zeros((4, 4), np.int8), np.zeros((4, 4), np.float16)
    with pytest.raises(tl.TypeMismatchError, match="mma operands must have one dtype"):
        run(place, kernels.matmul, (4, 4), F32, a, b)
