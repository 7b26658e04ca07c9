"""Operations on tiles give what NumPy gives; what is refused, to the letter."""

import itertools
import math
import operator

import ml_dtypes
import numpy as np
import pytest
from carets import marked

import tilec as tl
from tilec.lang.dtypes import DTYPES
from tilec.lang.promotion import promote

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def edge_values(dtype):
    """Two vectors that hold every pair of interesting values."""
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        values = [info.min, info.min + 1, 0, 1, 2, 3, 7, 8, info.max - 1, info.max]
        values += [-1, -2, -3, -7] if info.min < 0 else [200]
    else:
        values = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.0, -7.0, 100.0]
        values += [math.inf, -math.inf, math.nan]
    a, b = np.meshgrid(np.array(values, dtype), np.array(values, dtype))
    return a.ravel(), b.ravel()


def same(found, expected):
    """Bit-equal; NaN by isnan, zeros by signbit."""
    assert found.dtype == expected.dtype
    found, expected = (
        x.astype(np.float64) if x.dtype.kind in "fV" else x for x in (found, expected)
    )
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def run_binary(tools, function, a, b, dtype):
    def kernel(y, a, b):
        y.store(function(a.load_like(y), b.load_like(y)))

    y = np.zeros(a.shape, dtype)
    tools.run(kernel, tools.part(y, (64,)), a, b)
    return y


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.__name__)
@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor"])
@pytest.mark.filterwarnings("ignore")
def test_integer_operators_edge_values_as_numpy(tools, symbol, dtype):
    function = getattr(operator, symbol)
    a, b = edge_values(dtype)
    same(run_binary(tools, function, a, b, dtype), function(a, b))


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.__name__)
@pytest.mark.parametrize("symbol", ["lshift", "rshift"])
def test_shift_any_count_as_numpy(tools, symbol, dtype):
    function = getattr(operator, symbol)
    a, b = edge_values(dtype)
    same(run_binary(tools, function, a, b, dtype), function(a, b))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("d", [-3, -2, -1, 0, 1, 2, 3])
@pytest.mark.filterwarnings("ignore")
def test_floor_division_by_literal_and_scalar_as_numpy(tools, dtype, d):
    x = np.array([np.iinfo(dtype).min, -8, -7, -1, 0, 1, 7, 8, np.iinfo(dtype).max], dtype)

    def kernel(q, r, x, d):
        q.store(x.load_like(q) // d)
        r.store(x.load_like(r) % d)

    for divisor in (tools.constant(d), d):
        q, r = np.zeros_like(x), np.zeros_like(x)
        tools.run(kernel, tools.part(q, (16,)), tools.part(r, (16,)), x, divisor)
        same(q, x // dtype(d))
        same(r, x % dtype(d))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.int8, [-8, 0, 3, -1, -1]),
        (np.uint8, [8, 0, 3, 15, 15]),
        (np.uint16, [8, 48, 67, 255, 127]),
    ],
)
def test_narrow_shifts_drop_bits(tools, dtype, expected):
    def kernel(y, x, k):
        y.store((x.load_like(y) << k) >> k)

    x = np.array([8, 48, 67, -1, 127]).astype(dtype)
    half = x.itemsize * 4
    for count in (tools.constant(half), half):
        y = np.zeros_like(x)
        tools.run(kernel, tools.part(y, (8,)), x, count)
        assert y.tolist() == expected


@pytest.mark.parametrize("k", [8, 9, 100, -1])
def test_shift_literal_out_of_width_defined(tools, k):
    def kernel(left, right, x):
        left.store(x.load_like(left) << k)
        right.store(x.load_like(right) >> k)

    x = np.array([1, -1, 127, -128], np.int8)
    left, right = np.ones_like(x), np.ones_like(x)
    tools.run(kernel, tools.part(left, (4,)), tools.part(right, (4,)), x)
    assert left.tolist() == [0, 0, 0, 0]
    assert right.tolist() == [0, -1, 0, -1]


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.__name__)
@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "truediv"])
@pytest.mark.filterwarnings("ignore")
def test_float_operators_edge_values_as_numpy(tools, symbol, dtype):
    function = getattr(operator, symbol)
    a, b = edge_values(dtype)
    same(run_binary(tools, function, a, b, dtype), function(a, b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("symbol", ["floordiv", "mod"])
@pytest.mark.filterwarnings("ignore")
def test_float_floor_division_edge_values_as_numpy(tools, symbol, dtype):
    function = getattr(operator, symbol)
    a, b = edge_values(dtype)
    same(run_binary(tools, function, a, b, dtype), function(a, b))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=lambda d: d.__name__)
@pytest.mark.parametrize("symbol", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.filterwarnings("ignore:invalid value")  # NumPy's own, on NaN
def test_comparisons_edge_values_as_numpy(tools, symbol, dtype):
    function = getattr(operator, symbol)
    a, b = edge_values(dtype)
    same(run_binary(tools, function, a, b, np.bool_), function(a, b))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=lambda d: d.__name__)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (tl.minimum, np.minimum),
        (tl.maximum, np.maximum),
        (lambda a, b: tl.minimum(a, b, propagate_nan=False), np.fmin),
        (lambda a, b: tl.maximum(a, b, propagate_nan=False), np.fmax),
    ],
    ids=["minimum", "maximum", "fmin", "fmax"],
)
@pytest.mark.filterwarnings("ignore:invalid value")  # NumPy's own, on NaN
def test_minimum_maximum_nan_rule_as_numpy(tools, ours, theirs, dtype):
    a, b = edge_values(dtype)
    found, expected = run_binary(tools, ours, a, b, dtype), theirs(a, b)
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(found, expected)  # either zero may win


def run_unary(tools, function, x, dtype=None):
    def kernel(y, x):
        y.store(function(x.load_like(y)))

    y = np.zeros(x.shape, dtype or x.dtype)
    tools.run(kernel, tools.part(y, (32,)), x)
    return y


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.__name__)
@pytest.mark.filterwarnings("ignore")
def test_integer_unary_as_numpy(tools, dtype):
    x = np.unique(edge_values(dtype)[0])
    same(run_unary(tools, operator.neg, x), -x)
    same(run_unary(tools, abs, x), np.abs(x))
    same(run_unary(tools, operator.invert, x), ~x)
    bits = x.view(f"u{x.itemsize}")
    same(run_unary(tools, tl.popcount, x), np.bitwise_count(bits).astype(dtype))
    clz = [x.itemsize * 8 - int(v).bit_length() for v in bits]
    same(run_unary(tools, tl.clz, x), np.array(clz, dtype))


@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "sin"])
def test_float_function_close_to_numpy(tools, name):
    x = np.random.default_rng(7).uniform(0.1, 5.0, 32)
    found = run_unary(tools, getattr(tl, name), x)
    np.testing.assert_allclose(found, getattr(np, name)(x), rtol=1e-14)


def test_rounding_functions_as_numpy(tools):
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.4, -0.6, math.inf, math.nan])
    same(run_unary(tools, tl.round, x), np.round(x))
    same(run_unary(tools, tl.floor, x), np.floor(x))
    same(run_unary(tools, tl.ceil, x), np.ceil(x))
    same(run_unary(tools, tl.trunc, x), np.trunc(x))


def test_classification_as_numpy(tools):
    x = np.array([0.0, -1.0, math.inf, -math.inf, math.nan], np.float32)
    same(run_unary(tools, tl.isnan, x, np.bool_), np.isnan(x))
    same(run_unary(tools, tl.isinf, x, np.bool_), np.isinf(x))
    same(run_unary(tools, tl.isfinite, x, np.bool_), np.isfinite(x))


def test_power_integer_exponent_as_numpy(tools):
    x = np.array([-3, -1, 0, 2, 5], np.int32)
    for exponent in (0, 1, 2, 3, 7):
        same(run_unary(tools, lambda t, e=exponent: t**e, x), x**exponent)


def test_mulhi_signed_and_unsigned(tools):
    a = np.array([2**31 - 1, -(2**31), -5, 123456789], np.int32)
    b = np.array([2**31 - 1, 2, 7, -987654321], np.int32)
    expected = ((a.astype(np.int64) * b) >> 32).astype(np.int32)
    same(run_binary(tools, tl.mulhi, a, b, np.int32), expected)
    a, b = a.view(np.uint32), b.view(np.uint32)
    expected = ((a.astype(np.uint64) * b) >> np.uint64(32)).astype(np.uint32)
    same(run_binary(tools, tl.mulhi, a, b, np.uint32), expected)


def test_cdiv_of_constants_is_python():
    assert [tl.cdiv(n, 4) for n in (0, 1, 4, 5, -1)] == [0, 1, 1, 2, 0]


# -- conversions -------------------------------------------------------------------------------


def convert(tools, x, dtype):
    target = np.dtype(dtype)

    def kernel(y, x):
        y.store(x.load_like(y).to(y.dtype))

    y = np.zeros(x.shape, target)
    tools.run(kernel, tools.part(y, (16,)), x)
    return y


@pytest.mark.parametrize(
    ("source", "values", "target"),
    [
        (np.uint8, [200], np.float64),
        (np.uint16, [60000], np.float64),
        (np.uint32, [3_000_000_000], np.float32),
        (np.uint64, [2**63 + 2048], np.float64),
        (np.float64, [3e9], np.uint32),
        (np.bool_, [True, False, True], np.int64),
        (np.int32, [-1, 300, 2**31 - 1], np.int8),
        (np.int8, [-1, 5], np.uint64),
        (np.float32, [1.5, -1.5, 0.0, math.nan], np.bool_),
        (np.float32, [1 + 2**-8, 1 + 3 * 2**-8, math.nan, 3.4e38], ml_dtypes.bfloat16),
        (np.float16, [1.0, 65504.0, 6e-8], ml_dtypes.bfloat16),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_conversion_as_numpy(tools, source, values, target):
    x = np.array(values, source)
    same(convert(tools, x, target), x.astype(target))


@pytest.mark.parametrize("target", INTEGERS, ids=lambda d: d.__name__)
@pytest.mark.parametrize("source", FLOATS, ids=lambda d: d.__name__)
def test_float_to_integer_saturates_and_nan_is_zero(tools, source, target):
    info = np.iinfo(target)
    values = [math.nan, math.inf, -math.inf, 1.9, -1.9, -0.5, float(info.max), float(info.min)]
    values += [float(info.max) * 1.5, float(info.min) * 1.5 - 1]
    with np.errstate(over="ignore"):
        x = np.array(values).astype(source)

    def saturated(v):
        if math.isnan(v):
            return 0
        bounded = max(-(2.0**70), min(2.0**70, v))
        return max(info.min, min(info.max, math.trunc(bounded)))

    expected = [saturated(float(v)) for v in x]
    assert convert(tools, x, target).tolist() == expected


def test_bitcast_keeps_bits(tools):
    bits = np.array([0x7FFF8C22, 0x3F808000, 0x80000000, 1], np.uint32)

    def kernel(y, x):
        y.store(tl.bitcast(tl.bitcast(x.load_like(y), tl.float32), tl.uint32))

    y = np.zeros_like(bits)
    tools.run(kernel, tools.part(y, (4,)), bits)
    assert y.tolist() == bits.tolist()


# -- promotion ---------------------------------------------------------------------------------


def dtype_of(tools, function, *dtypes):
    """The dtype of ``function`` applied to tiles of these dtypes."""
    found = []

    def kernel(y, *_):
        found.append(function(*[tl.zeros((8,), dtype) for dtype in dtypes]).dtype)
        y.store(0.0)

    def entry(y):
        kernel(y)

    tools.bytecode(entry, tools.view(tl.float32, 1, (8,)))
    return found[0]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (tl.int8, tl.int32, tl.int32),
        (tl.uint8, tl.int8, tl.int16),
        (tl.uint32, tl.int32, tl.int64),
        (tl.bool_, tl.uint8, tl.uint8),
        (tl.bool_, tl.float16, tl.float16),
        (tl.float16, tl.bfloat16, tl.float32),
        (tl.float16, tl.float64, tl.float64),
        (tl.int8, tl.float16, tl.float16),
        (tl.int16, tl.float16, tl.float32),
        (tl.int8, tl.bfloat16, tl.bfloat16),
        (tl.int32, tl.float64, tl.float64),
    ],
)
def test_promotion_of_tiles(tools, left, right, expected):
    assert dtype_of(tools, operator.add, left, right) is expected
    assert dtype_of(tools, operator.add, right, left) is expected


def test_promotion_of_every_pair_as_numpy_or_refused():
    """Where NumPy's answer loses no digits and is no surprise float64, it is ours."""
    both = [d for d in DTYPES if d.numpy.isbuiltin == 1 and d is not tl.tfloat32]
    for left, right in itertools.product(both, both):
        numpy_dtype = np.promote_types(left.numpy, right.numpy)
        implicit = numpy_dtype == np.float64 and tl.float64 not in (left, right)
        loses = numpy_dtype == np.float64 and {left, right} & {tl.int64, tl.uint64}
        if implicit or loses:
            with pytest.raises(tl.TypeMismatchError):
                promote(left, right)
        else:
            assert promote(left, right).numpy == numpy_dtype


@pytest.mark.parametrize(
    ("function", "dtype", "expected"),
    [
        (lambda x: x * 2, tl.float16, tl.float16),
        (lambda x: 0.5 * x, tl.bfloat16, tl.bfloat16),
        (lambda x: x + 1, tl.int8, tl.int8),
        (lambda x: x - 1, tl.uint8, tl.uint8),
        (lambda x: x + True, tl.int8, tl.int8),
        (lambda x: x + 0, tl.bool_, tl.int32),
        (lambda x: x * 0.5, tl.int16, tl.float32),
        (lambda x: x / 2, tl.int8, tl.float32),
        (lambda x: tl.where(x > 0, x - 1, 0), tl.float16, tl.float16),
        (lambda x: tl.where(True, x, -math.inf), tl.float16, tl.float16),
        (lambda x: np.float64(2.0) * x, tl.float32, tl.float32),
        (lambda x: x * np.int64(3), tl.int8, tl.int8),
        (lambda x: ~x, tl.uint64, tl.uint64),
        (lambda x: tl.sum(x), tl.float16, tl.float16),
        (lambda x: tl.sum(x), tl.int8, tl.int32),
        (lambda x: tl.sum(x), tl.bool_, tl.int32),
        (lambda x: tl.mean(x), tl.int16, tl.float32),
        (lambda x: tl.argmax(x), tl.float32, tl.int32),
        (lambda x: tl.exp(x), tl.uint8, tl.float32),
    ],
)
def test_promotion_with_literals(tools, function, dtype, expected):
    assert dtype_of(tools, function, dtype) is expected


def test_unsigned_wrap_as_numpy(tools):
    x = np.array([2**64 - 1, 1], np.uint64)
    assert run_unary(tools, lambda t: t * 2, x).tolist() == [2**64 - 2, 2]


@pytest.mark.parametrize(
    ("function", "dtypes", "message", "hint"),
    [
        (
            operator.add,
            (tl.int32, tl.float32),
            "int32 and float32 have no common dtype that keeps every digit",
            "convert one of them: x.to(tl.float32)",
        ),
        (
            operator.add,
            (tl.int64, tl.uint64),
            "int64 and uint64 have no common dtype that keeps every digit",
            "convert one of them: x.to(tl.int64)",
        ),
        (
            lambda x: x * 0.5,
            (tl.int32,),
            "int32 becomes a float here, and float32 does not hold every int32",
            "convert it first: x.to(tl.float32)",
        ),
        (
            lambda x: x + 300,
            (tl.uint8,),
            "300 does not fit uint8 (0 to 255)",
            "convert the tile to a wider dtype first: x.to(...)",
        ),
        (
            lambda x: x * 1e10,
            (tl.float16,),
            "10000000000.0 does not fit float16 (-65504.0 to 65504.0)",
            "convert the tile to a wider dtype first: x.to(...)",
        ),
        (
            operator.add,
            (tl.float8_e5m2, tl.float8_e5m2),
            "+: float8_e5m2 has no arithmetic",
            "convert it first: x.to(tl.float32)",
        ),
        (
            operator.and_,
            (tl.float32, tl.float32),
            "& works on integers and booleans, found float32",
            None,
        ),
        (
            lambda x: tl.where(x, x, x),
            (tl.int32,),
            "where: expected a bool condition, found a tile of int32 (8,)",
            "compare it with something, e.g. x != 0",
        ),
        (
            lambda x: x + "1",
            (tl.int32,),
            "+: expected a tile, a scalar or a number, found a str",
            None,
        ),
        (
            lambda x: tl.bitcast(x, tl.int16),
            (tl.int32,),
            "bitcast: int32 has 32 bits, int16 has 16",
            None,
        ),
        (
            lambda x: x**-1,
            (tl.int32,),
            "int32 takes a compile-time exponent of at least 0",
            "convert the base first: x.to(tl.float32) ** y",
        ),
    ],
)
def test_operands_that_do_not_fit_refused(tools, function, dtypes, message, hint):
    def kernel(y, x):
        function(*[tl.zeros((8,), dtype) for dtype in dtypes])

    error = tools.error(kernel, tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1))
    assert (error.message, error.hint) == (message, hint)


def test_shapes_that_do_not_broadcast_refused(tools):
    def kernel(y, x):
        y.store(x.load_like(y) + tl.zeros((7,)))

    assert tools.refused(kernel) == (
        "+: shapes (8,) and (7,) do not broadcast",
        "y.store(x.load_like(y) + tl.zeros((7,)))",
        marked("x.load_like(y) + tl.zeros((7,))"),
        [],
        None,
    )


def test_function_outside_kernel_refused():
    with pytest.raises(tl.TraceError) as error:
        tl.zeros((8,))
    assert str(error.value) == (
        "full works on tiles, inside a kernel, and no kernel is being traced\n"
        "   = hint: call it from a function decorated with @tl.kernel"
    )


def test_function_of_python_numbers_computed_at_once():
    assert tl.exp(0.0) == 1.0
    assert tl.maximum(3, 4) == 4
    assert tl.where(True, 1, 2) == 1
    assert math.isnan(tl.maximum(math.nan, 1.0))
    assert tl.maximum(math.nan, 1.0, propagate_nan=False) == 1.0
