"""Roundings and functions that NumPy lacks or does not define tightly enough.

The executor is the oracle of the GPU tests, so a result is rounded once, from a value that is
exact or much more precise.
"""

# NumPy's stubs leave most of its functions partly unknown: no strict checks here.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

#: A tile or scalar: `numpy.ndarray` or `numpy.generic`. NumPy's stubs know no `ml_dtypes`, so that
#: naming the dtypes would only make every ufunc an error to a strict checker.
Array: TypeAlias = Any

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_MANTISSA_TF32_DROPPED_BITS = 13
#: Only stored and converted; an operation on them is done in f32.
FLOAT8 = (np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2))


def narrow(value: Array, dtype: np.dtype[Any]) -> Array:
    """Round to a float type, to nearest, ties to even, and only once.

    What is too large becomes an infinity; in an 8-bit type, the largest number.

    ``ml_dtypes`` narrows f64 by way of f32, which rounds twice; an odd last bit in the f32 keeps
    the information that the second rounding needs.

    Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008.
    """
    if value.dtype == _F64 and dtype.itemsize < 4 and dtype != np.float16:
        value = _round_to_odd_f32(value)
    return _saturate(value, dtype) if dtype in FLOAT8 else value.astype(dtype)


def _saturate(value: Array, dtype: np.dtype[Any]) -> Array:
    """Round to 8 bits as ``cvt.rn.satfinite`` does, infinities included; NaN is 0x7F.

    Source: PTX ISA, "Data movement and conversion instructions: cvt".
    """
    largest = float(ml_dtypes.finfo(dtype).max)
    bits = np.clip(value.astype(_F32), -largest, largest).astype(dtype).view(np.uint8)
    return np.where(np.isnan(value), np.uint8(0x7F), bits).view(dtype)


def _round_to_odd_f32(value: Array) -> Array:
    nearest = value.astype(_F32)
    error = value - nearest.astype(_F64)
    return _make_odd(nearest, error, np.dtype(np.int32))


def _make_odd(nearest: Array, error: Array, bits: np.dtype[Any]) -> Array:
    """Move an inexact value with an even last bit to its odd neighbour on the error's side."""
    is_even = (nearest.view(bits) & 1) == 0
    toward = np.where(error > 0, np.inf, -np.inf).astype(nearest.dtype)
    move = is_even & (error != 0) & np.isfinite(nearest)
    return np.where(move, np.nextafter(nearest, toward), nearest)


def to_tf32(value: Array) -> Array:
    """Round f32 to tf32's 10 mantissa bits, to nearest, ties away from zero (``cvt.rna``)."""
    half = np.uint32(1 << (_MANTISSA_TF32_DROPPED_BITS - 1))
    mask = np.uint32(0xFFFFFFFF << _MANTISSA_TF32_DROPPED_BITS & 0xFFFFFFFF)
    rounded = ((value.view(np.uint32) + half) & mask).view(np.float32)
    return np.where(np.isfinite(value), rounded, value)


def fma(a: Array, b: Array, c: Array) -> Array:
    """Return ``a * b + c``, rounded once."""
    dtype = np.result_type(a)
    if dtype == _F64:
        return np.asarray(_FMA_F64(a, b, c), _F64)
    a, b, c = (np.asarray(operand, _F64) for operand in (a, b, c))
    product = a * b  # exact: at most 48 bits
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)  # Knuth's two-sum
    error = np.where(np.isfinite(total), error, 0.0)
    return narrow(_make_odd(total, error, np.dtype(np.int64)), dtype)


def _fma_f64(a: float, b: float, c: float) -> float:
    product = a * b
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return product + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return product + c if product == 0 else 0.0
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


_FMA_F64 = np.frompyfunc(_fma_f64, 3, 1)


def by_element(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """Apply a function of Python's ``math`` to every element."""
    elementwise = np.frompyfunc(function, 1, 1)
    return lambda value: np.asarray(elementwise(value), _F64)


def in_double(function: Callable[..., Array]) -> Callable[..., Array]:
    """Evaluate in f64 and round once to the operands' type."""

    def evaluate(*operands: Array) -> Array:
        dtype = operands[0].dtype
        return narrow(function(*(operand.astype(_F64) for operand in operands)), dtype)

    return evaluate


def in_single(function: Callable[..., Array]) -> Callable[..., Array]:
    """Evaluate in f32 and round once to the operands' type."""

    def evaluate(*operands: Array) -> Array:
        dtype = operands[0].dtype
        return narrow(function(*(operand.astype(_F32) for operand in operands)), dtype)

    return evaluate


def maximum(a: Array, b: Array) -> Array:
    """IEEE 754-2019 maximum: NaN if either is, and +0 above −0."""
    return _zeros_by(np.add, np.maximum(a, b), a, b)


def minimum(a: Array, b: Array) -> Array:
    """IEEE 754-2019 minimum: NaN if either is, and −0 below +0."""
    return _zeros_by(_or_signs, np.minimum(a, b), a, b)


def maximum_number(a: Array, b: Array) -> Array:
    """IEEE 754-2019 maximumNumber: a NaN loses against a number."""
    return _zeros_by(np.add, np.fmax(a, b), a, b)


def minimum_number(a: Array, b: Array) -> Array:
    """IEEE 754-2019 minimumNumber: a NaN loses against a number."""
    return _zeros_by(_or_signs, np.fmin(a, b), a, b)


def _zeros_by(combine: Callable[[Array, Array], Array], result: Array, a: Array, b: Array) -> Array:
    zero = result.dtype.type(0)
    if not np.any(result == zero):
        return result
    return np.where((a == zero) & (b == zero), combine(a, b), result)


def _or_signs(a: Array, b: Array) -> Array:
    return -((-a) + (-b))


def round_half_away(value: Array) -> Array:
    """Round to an integer, halves away from zero."""
    whole = np.trunc(value)
    one = value.dtype.type(1)
    up = abs(value - whole) >= value.dtype.type(0.5)
    return np.copysign(np.where(up, whole + np.copysign(one, value), whole), value)


def float_to_integer(value: Array, integer: np.dtype[Any]) -> Array:
    """Convert toward zero; saturate out of range, NaN gives 0.

    NumPy's own cast is the processor's, which differs between machines out of range.
    """
    limits = np.iinfo(integer)
    wide = value.astype(_F64)
    # 2**63 - 1 is no f64: compare against the power of two above the range.
    too_large = wide >= float(limits.max) + (1.0 if limits.max < 2**53 else 0.0)
    too_small = wide <= float(limits.min) - (1.0 if limits.min > -(2**53) else 0.0)
    safe = np.where(too_large | too_small | np.isnan(wide), 0.0, wide)
    result = np.trunc(safe).astype(integer)
    result = np.where(too_large, integer.type(limits.max), result)
    return np.where(too_small, integer.type(limits.min), result)


def integer_to_float(value: Array, dtype: np.dtype[Any]) -> Array:
    """Convert an integer (signed or unsigned) to a float, rounded once.

    NumPy and ``ml_dtypes`` reach 16-bit floats by way of f32, which rounds twice.
    """
    if dtype.itemsize >= 4:
        return value.astype(dtype)
    wide = value.astype(_F64)
    if value.dtype.itemsize == 8:
        # Exact in 64 bits: split into halves that f64 holds exactly.
        error = (value - wide.astype(value.dtype)).astype(_F64)
        wide = np.where(abs(wide) < 2.0**63, _make_odd(wide, error, np.dtype(np.int64)), wide)
    return narrow(wide, dtype)


def smallest_normal(dtype: np.dtype[Any]) -> Any:
    """Return the smallest positive normal number of a float type."""
    return ml_dtypes.finfo(dtype).smallest_normal
