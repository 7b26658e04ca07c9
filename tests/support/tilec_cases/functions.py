"""Every mathematical function, within its bound in units of the last place."""

import math

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import F32, F64, TINY, UNIT, double

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
WHOLE, POSITIVE, UNIT_INTERVAL, SMALL = (-20.0, 20.0), (1e-3, 1e3), (-1.0, 1.0), (-3.0, 3.0)

#: name: the function, NumPy's in f64, an interval, and the bound in ulp of f32 and f64.
FUNCTIONS = {
    "exp": (tl.exp, np.exp, WHOLE, 4),
    "exp2": (tl.exp2, np.exp2, WHOLE, 4),
    "expm1": (tl.expm1, np.expm1, SMALL, 4),
    "log": (tl.log, np.log, POSITIVE, 4),
    "log2": (tl.log2, np.log2, POSITIVE, 4),
    "log10": (tl.log10, np.log10, POSITIVE, 4),
    "log1p": (tl.log1p, np.log1p, (-0.9, 100.0), 4),
    "sqrt": (tl.sqrt, np.sqrt, POSITIVE, 1),
    "rsqrt": (tl.rsqrt, lambda x: 1 / np.sqrt(x), POSITIVE, 4),
    "sin": (tl.sin, np.sin, WHOLE, 4),
    "cos": (tl.cos, np.cos, WHOLE, 4),
    "tan": (tl.tan, np.tan, SMALL, 8),
    "asin": (tl.asin, np.arcsin, UNIT_INTERVAL, 4),
    "acos": (tl.acos, np.arccos, UNIT_INTERVAL, 4),
    "atan": (tl.atan, np.arctan, WHOLE, 4),
    "sinh": (tl.sinh, np.sinh, SMALL, 4),
    "cosh": (tl.cosh, np.cosh, SMALL, 4),
    "tanh": (tl.tanh, np.tanh, SMALL, 4),
    "erf": (tl.erf, np.vectorize(math.erf, otypes=[float]), SMALL, 4),
    "sigmoid": (tl.sigmoid, lambda x: 1 / (1 + np.exp(-x)), WHOLE, 8),
    "floor": (tl.floor, np.floor, WHOLE, 0),
    "ceil": (tl.ceil, np.ceil, WHOLE, 0),
    "trunc": (tl.trunc, np.trunc, WHOLE, 0),
    "abs": (tl.abs, np.abs, WHOLE, 0),
}
BINARY = {
    "atan2": (tl.atan2, np.arctan2, 4),
    "pow": (tl.pow, lambda x, y: np.power(np.abs(x), y), 16),
    "divide": (lambda x, y: x / y, np.divide, 1),
    "copysign": (tl.copysign, np.copysign, 0),
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


@tl.kernel
def apply(y, x, *, function: tl.Constant):
    y.store(function(x.load_like(y)))


@tl.kernel
def apply_two(z, x, y, *, function: tl.Constant):
    z.store(function(x.load_like(z), y.load_like(z)))


def assert_ulps(found, reference, bound):
    """Special values as they are; others within some units of the last place."""
    kind = found.dtype
    with np.errstate(over="ignore"):
        rounded = double(reference.astype(kind))
    special = ~np.isfinite(rounded) | (rounded == 0)
    found = double(found)
    np.testing.assert_array_equal(found[special], rounded[special])
    zero = rounded == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(rounded[zero]))
    ulp = 2 * UNIT[kind] * 2.0 ** np.floor(np.log2(np.abs(reference[~special]))) + 2 * TINY[kind]
    # A short type rounds what was computed in f32: half an ulp, and a little more.
    allowed = bound if kind in (F32, F64) else min(bound, 0.6)
    error = np.abs(found[~special] - reference[~special])
    worst = (error / ulp).max(initial=0.0)
    assert worst <= allowed, f"off by {worst:.2f} ulp, {allowed} allowed"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_within_its_bound(place, rng, dtype, name):
    function, numpy_like, (low, high), bound = FUNCTIONS[name]
    x = np.concatenate([rng.uniform(low, high, 500), SPECIAL]).astype(dtype)
    y = place.output(x.shape, dtype)
    apply(tl.partition(y.array, (128,)), place.array(x), function=function)
    with np.errstate(all="ignore"):
        assert_ulps(y.read(), numpy_like(double(x)), bound)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_binary_function_is_within_its_bound(place, rng, dtype, name):
    function, numpy_like, bound = BINARY[name]
    x, y = (rng.uniform(-3, 3, 500).astype(dtype) for _ in range(2))
    if name == "pow":
        x = np.abs(x)
    z = place.output(x.shape, dtype)
    apply_two(tl.partition(z.array, (128,)), place.array(x), place.array(y), function=function)
    with np.errstate(all="ignore"):
        assert_ulps(z.read(), numpy_like(double(x), double(y)), bound)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("name", "predicate", "numpy_like"),
    [
        ("isnan", tl.isnan, np.isnan),
        ("isinf", tl.isinf, np.isinf),
        ("isfinite", tl.isfinite, np.isfinite),
    ],
)
def test_classification_of_special_values(place, dtype, name, predicate, numpy_like):
    x = np.array(SPECIAL, dtype)
    y = place.output(x.shape, np.int8)
    apply(
        tl.partition(y.array, (8,)),
        place.array(x),
        function=lambda t: tl.where(predicate(t), 1, 0).to(tl.int8),
    )
    np.testing.assert_array_equal(y.read(), numpy_like(double(x)))
