"""Which dtype an operation on mixed operands has: NumPy 2 / Array-API rules, never losing digits.

| operands | result |
|---|---|
| same kind | the wider one; float16 with bfloat16 gives float32 |
| signed with unsigned | the smallest signed integer that holds both; int64 with uint64: refused |
| bool with anything | the other |
| integer with float | the smallest float that holds both exactly, but float64 only if one is it |
| tile with a Python or run-time scalar | the tile's dtype if the scalar is of no higher kind |
| bool tile with an int scalar | int32 |
| integer tile with a float scalar | float32 for 8- and 16-bit integers, else refused |
"""

from __future__ import annotations

import math
from enum import IntEnum

from tilec.diagnostics import TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.dtypes import DType


class Weak(IntEnum):
    """The kind of a Python or run-time scalar; kinds are ordered."""

    BOOL = 0
    INT = 1
    FLOAT = 2


DEFAULTS = {Weak.BOOL: dtypes.bool_, Weak.INT: dtypes.int32, Weak.FLOAT: dtypes.float32}
"""The dtype that a weak scalar has where no tile gives it one."""

_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_SIGNED = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
# Exponent range, as (smallest normal, largest) powers of two: whether one float holds another.
_EXPONENTS = {
    dtypes.float8_e4m3fn: (-6, 8),
    dtypes.float8_e5m2: (-14, 15),
    dtypes.float16: (-14, 15),
    dtypes.bfloat16: (-126, 127),
    dtypes.tfloat32: (-126, 127),
    dtypes.float32: (-126, 127),
    dtypes.float64: (-1022, 1023),
}


def kind_of(value: bool | int | float) -> Weak:
    """The weak kind of a Python number."""
    if isinstance(value, bool):
        return Weak.BOOL
    return Weak.INT if isinstance(value, int) else Weak.FLOAT


def weak_kind(dtype: DType) -> Weak:
    """The weak kind that ranks with a dtype."""
    if dtype.is_float:
        return Weak.FLOAT
    return Weak.BOOL if dtype.is_bool else Weak.INT


def holds(wide: DType, narrow: DType) -> bool:
    """Whether every value of ``narrow`` is a value of ``wide``."""
    if wide is narrow or narrow.is_bool:
        return True
    if wide.is_float and narrow.is_float:
        low, high = _EXPONENTS[wide]
        narrow_low, narrow_high = _EXPONENTS[narrow]
        return (
            wide.significand_bits >= narrow.significand_bits
            and low <= narrow_low
            and high >= narrow_high
        )
    if wide.is_float:
        digits = narrow.bits - narrow.is_signed
        return digits <= wide.significand_bits and narrow.largest <= wide.largest
    if narrow.is_float or wide.is_bool:
        return False
    return wide.smallest <= narrow.smallest and narrow.largest <= wide.largest


def promote(left: DType, right: DType) -> DType:
    """The dtype of an operation on two tiles.

    Raises:
        TypeMismatchError: No dtype holds both without losing digits, or only an implicit float64.
    """
    if holds(left, right):
        return left
    if holds(right, left):
        return right
    candidates = _FLOATS[:3] if left.is_float or right.is_float else _SIGNED
    for candidate in candidates:
        if holds(candidate, left) and holds(candidate, right):
            return candidate
    target = left if left.is_float else right if right.is_float else dtypes.int64
    raise TypeMismatchError(
        f"{left} and {right} have no common dtype that keeps every digit",
        hint=f"convert one of them: x.to(tl.{target})",
    )


def promote_weak(dtype: DType, weak: Weak) -> DType:
    """The dtype of an operation on a tile and a scalar of kind ``weak``.

    Raises:
        TypeMismatchError: An integer tile that float32 cannot hold meets a float.
    """
    if weak <= weak_kind(dtype):
        return dtype
    if weak is Weak.INT:
        return dtypes.int32
    return as_float(dtype)


def as_float(dtype: DType) -> DType:
    """The dtype in which a float function computes on ``dtype``.

    Raises:
        TypeMismatchError: float32 cannot hold every value of the integer.
    """
    if dtype.is_float:
        return dtype
    if holds(dtypes.float32, dtype):
        return dtypes.float32
    raise TypeMismatchError(
        f"{dtype} becomes a float here, and float32 does not hold every {dtype}",
        hint="convert it first: x.to(tl.float32)",
    )


def check_literal(value: bool | int | float, dtype: DType) -> None:
    """Refuse a Python number that a dtype cannot hold.

    Raises:
        TypeMismatchError: An integer out of range, or a finite float that would become infinite.
    """
    if dtype.is_float:
        fits = not math.isfinite(value) or abs(value) <= dtype.largest
    elif isinstance(value, float):
        fits = False
    else:
        fits = dtype.smallest <= value <= dtype.largest
    if not fits:
        raise TypeMismatchError(
            f"{value} does not fit {dtype} ({dtype.smallest} to {dtype.largest})",
            hint="convert the tile to a wider dtype first: x.to(...)",
        )
