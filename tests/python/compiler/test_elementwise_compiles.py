"""Every elementwise function, operator and conversion goes down to PTX that calls nothing."""

import operator
import re

import pytest

import tilec as tl
from tilec.lang.dtypes import BY_SHORT

TARGETS = ["sm_80", "sm_90a"]  # without and with bf16 arithmetic and 8-bit conversions
FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
EVERY = [*FLOATS, *INTEGERS, "e4m3", "e5m2", "bool"]

UNARY = [
    *(tl.exp, tl.exp2, tl.expm1, tl.log, tl.log2, tl.log10, tl.log1p, tl.sqrt, tl.rsqrt),
    *(tl.sin, tl.cos, tl.tan, tl.asin, tl.acos, tl.atan, tl.sinh, tl.cosh, tl.tanh),
    *(tl.erf, tl.sigmoid, tl.floor, tl.ceil, tl.round, tl.trunc, tl.abs, operator.neg),
]
BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, tl.atan2, tl.pow, tl.minimum, tl.maximum),
]
INTEGER_BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, tl.cdiv),
    *(operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor),
    *(tl.minimum, tl.maximum, tl.mulhi),
]
INTEGER_UNARY = [tl.popcount, tl.clz, operator.neg, operator.invert, tl.abs]


def ptx_of(kernel, result, operands, target):
    arrays = [tl.ArraySpec((4096,), BY_SHORT[dtype]) for dtype in operands]
    output = tl.partition(tl.ArraySpec((4096,), BY_SHORT[result]), (256,))
    return kernel.compile(output, *arrays, target=target, phases=()).ptx


def assert_calls_nothing(ptx):
    assert re.search(r"\bcall\b|\.extern \.func", ptx) is None


def identity(function):
    return function.__name__


def unary(function):
    @tl.kernel
    def kernel(y, x):
        y.store(function(x.load_like(y)).to(y.dtype))

    return kernel


def binary(function):
    @tl.kernel
    def kernel(y, a, b):
        y.store(function(a.load_like(y), b.load_like(y)).to(y.dtype))

    return kernel


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", UNARY, ids=identity)
def test_float_function_calls_nothing(function, target):
    for dtype in FLOATS:
        assert_calls_nothing(ptx_of(unary(function), dtype, [dtype], target))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", BINARY, ids=identity)
def test_float_operator_calls_nothing(function, target):
    for dtype in FLOATS:
        assert_calls_nothing(ptx_of(binary(function), dtype, [dtype] * 2, target))


@pytest.mark.parametrize("function", INTEGER_BINARY, ids=identity)
def test_integer_operator_calls_nothing(function):
    for dtype in INTEGERS:
        assert_calls_nothing(ptx_of(binary(function), dtype, [dtype] * 2, "sm_80"))


@pytest.mark.parametrize("function", INTEGER_UNARY, ids=identity)
def test_integer_function_calls_nothing(function):
    for dtype in INTEGERS:
        assert_calls_nothing(ptx_of(unary(function), dtype, [dtype], "sm_80"))


@tl.kernel
def convert(y, x):
    y.store(x.load_like(y).to(y.dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", EVERY)
def test_conversion_calls_nothing(source, target):
    for result in EVERY:
        assert_calls_nothing(ptx_of(convert, result, [source], target))


def test_conversion_to_8_bits_is_one_instruction_where_there_is_one():
    assert "cvt.rn.satfinite.e4m3x2.f32" in ptx_of(convert, "e4m3", ["f32"], "sm_90a")
    assert "e4m3x2" not in ptx_of(convert, "e4m3", ["f32"], "sm_80")
