import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

BF16 = ml_dtypes.bfloat16
FLOATS = [np.float16, BF16, np.float32, np.float64]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1.5, 3.0e4, -3.0e-5, np.inf, -np.inf, np.nan]


def pairs(dtype):
    grid = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1).astype(dtype)
    return grid[0].copy(), grid[1].copy()


def name(ir, array):
    return ir.tile_type(array.shape, {2: "f16", 4: "f32", 8: "f64"}[array.dtype.itemsize])


def kind_of(ir, array):
    return ir.tile_type(array.shape, "bf16") if array.dtype == BF16 else name(ir, array)


def assert_same_bits(found, expected):
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_arithmetic_special_values_rounds_the_exact_result(ir, dtype, op):
    a, b = pairs(dtype)
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op]
    with np.errstate(all="ignore"):
        wide = np.float32 if np.dtype(dtype).itemsize == 2 else dtype
        expected = function(a.astype(wide), b.astype(wide)).astype(dtype)
    assert_same_bits(ir.evaluate(f"  %r = arith.{op}f %x0, %x1 : {kind_of(ir, a)}", a, b), expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "numpy_like", "larger"),
    [
        ("maximumf", np.maximum, True),
        ("minimumf", np.minimum, False),
        ("maxnumf", np.fmax, True),
        ("minnumf", np.fmin, False),
    ],
)
def test_extremum_special_values_orders_zeros_and_nan(ir, dtype, op, numpy_like, larger):
    a, b = pairs(dtype)
    found = ir.evaluate(f"  %r = arith.{op} %x0, %x1 : {kind_of(ir, a)}", a, b)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = numpy_like(wide_a, wide_b)
    zeros = (wide_a == 0) & (wide_b == 0)
    signs = [np.signbit(wide_a), np.signbit(wide_b)]
    negative = np.logical_and(*signs) if larger else np.logical_or(*signs)
    assert_same_bits(found, np.where(zeros, np.where(negative, -0.0, 0.0), expected))


def test_compare_every_predicate_handles_nan(ir):
    a, b = pairs(np.float32)
    unordered = np.isnan(a) | np.isnan(b)
    ordered = {
        "oeq": a == b, "ogt": a > b, "oge": a >= b, "olt": a < b, "ole": a <= b,
        "one": (a < b) | (a > b), "ord": ~unordered,
    }  # fmt: skip
    unordered_too = {
        "u" + key[1:]: holds | unordered for key, holds in ordered.items() if key != "ord"
    }
    constants = {"uno": unordered, "true": ~unordered | unordered, "false": unordered & ~unordered}
    flags = ir.tile_type(a.shape, "i1")
    out = np.empty(a.shape, np.int8)
    for predicate, holds in {**ordered, **unordered_too, **constants}.items():
        body = (
            f"  %c = arith.cmpf {predicate}, %x0, %x1 : {name(ir, a)}\n"
            f"  %r = arith.extui %c : {flags} to {ir.tile_type(a.shape, 'i8')}"
        )
        np.testing.assert_array_equal(ir.evaluate(body, a, b, out=out), holds, predicate)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "reference"),
    [
        ("exp", np.exp), ("exp2", np.exp2), ("expm1", np.expm1), ("log", np.log),
        ("log2", np.log2), ("log10", np.log10), ("log1p", np.log1p), ("sin", np.sin),
        ("cos", np.cos), ("tan", np.tan), ("asin", np.arcsin), ("acos", np.arccos),
        ("atan", np.arctan), ("sinh", np.sinh), ("cosh", np.cosh), ("tanh", np.tanh),
        ("asinh", np.arcsinh), ("acosh", np.arccosh), ("atanh", np.arctanh),
        ("cbrt", np.cbrt), ("sqrt", np.sqrt), ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ("erf", np.vectorize(math.erf)), ("erfc", np.vectorize(math.erfc)),
        ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("roundeven", np.rint),
        ("absf", np.abs),
    ],
)  # fmt: skip
def test_function_random_values_is_the_rounded_double(ir, rng, dtype, op, reference):
    x = np.concatenate([rng.standard_normal(50) * 3, SPECIAL, [0.5, 2.5, -2.5]]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.float64)).astype(dtype)
    found = ir.evaluate(f"  %r = math.{op} %x0 : {kind_of(ir, x)}", x)
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "reference"),
    [("powf", np.power), ("atan2", np.arctan2), ("copysign", np.copysign)],
)
def test_binary_function_special_values_is_the_rounded_double(ir, dtype, op, reference):
    a, b = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = reference(a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    assert_same_bits(ir.evaluate(f"  %r = math.{op} %x0, %x1 : {kind_of(ir, a)}", a, b), expected)


def test_round_halves_go_away_from_zero(ir):
    x = np.array([0.5, -0.5, 1.5, 2.5, 0.49999997, -0.3, -0.0, np.inf, 8388609.0], np.float32)
    expected = [1, -1, 2, 3, 0, -0.0, -0.0, np.inf, 8388609.0]
    assert_same_bits(ir.evaluate(f"  %r = math.round %x0 : {name(ir, x)}", x), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_fma_random_values_rounds_once(ir, rng, dtype):
    scale = 2.0 ** rng.integers(-6, 6, (3, 400))
    a, b, c = (rng.standard_normal((3, 400)) * scale).astype(dtype)
    c[:200] = (-(a[:200].astype(np.float64) * b[:200].astype(np.float64))).astype(dtype)
    found = ir.evaluate(f"  %r = math.fma %x0, %x1, %x2 : {kind_of(ir, a)}", a, b, c)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
             for x, y, z in zip(a, b, c, strict=True)]  # fmt: skip
    for value, truth in zip(found, exact, strict=True):
        neighbours = np.nextafter(value, np.array([-np.inf, np.inf], dtype))
        best = min(abs(Fraction(float(n)) - truth) for n in neighbours)
        assert abs(Fraction(float(value)) - truth) <= best


def test_fma_special_values_follows_ieee(ir):
    a = np.array([np.inf, 0.0, 1.0, -0.0, 1e308], np.float64)
    b = np.array([0.0, 5.0, 2.0, 5.0, 1e308], np.float64)
    c = np.array([1.0, -0.0, -2.0, -0.0, 1.0], np.float64)
    found = ir.evaluate(f"  %r = math.fma %x0, %x1, %x2 : {name(ir, a)}", a, b, c)
    assert_same_bits(found, [np.nan, 0.0, 0.0, -0.0, np.inf])


def test_classification_special_values(ir):
    x = np.array([*SPECIAL, 1e-40], np.float32)
    expected = {
        "isnan": np.isnan(x), "isinf": np.isinf(x), "isfinite": np.isfinite(x),
        "isnormal": np.isfinite(x) & (np.abs(x) > 1e-38),
    }  # fmt: skip
    out = np.empty(x.shape, np.int8)
    for op, holds in expected.items():
        flags, wide = (ir.tile_type(x.shape, element) for element in ("i1", "i8"))
        body = f"  %c = math.{op} %x0 : {name(ir, x)}\n  %r = arith.extui %c : {flags} to {wide}"
        np.testing.assert_array_equal(ir.evaluate(body, x, out=out), holds, op)
