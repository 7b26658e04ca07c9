"""Integer arithmetic of ``arith`` and ``math``.

Tiles are signed in NumPy; an unsigned op reinterprets its operands. An ``i1`` is a bool, and
counts as 0 and −1 in a signed op, as 0 and 1 in an unsigned one.
"""

# NumPy's stubs leave most of its functions partly unknown: no strict checks here.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilec.execute.lower import tile_type
from tilec.execute.numerics import Array
from tilec.execute.registry import Operation, PureHandler, pure, pure_table


def unsigned(value: Array) -> Array:
    """Reinterpret signed elements as unsigned ones of the same width."""
    if value.dtype == np.bool_:
        return value.astype(np.uint8)
    return value.view(f"u{value.dtype.name}")


def signed(value: Array) -> Array:
    """Reinterpret unsigned elements as signed ones of the same width."""
    if value.dtype == np.bool_:
        return -value.astype(np.int8)
    return value.view(value.dtype.name.removeprefix("u"))


def _signed_op(function: Callable[..., Array]) -> PureHandler:
    def handler(op: Operation) -> Callable[..., Array]:
        if tile_type(op.results[0]).element != "i1":
            return function
        return lambda *operands: (function(*map(signed, operands)) & 1).astype(np.bool_)

    return handler


def _unsigned_op(function: Callable[..., Array]) -> PureHandler:
    def handler(op: Operation) -> Callable[..., Array]:
        if tile_type(op.results[0]).element != "i1":
            return lambda *operands: signed(function(*map(unsigned, operands)))
        return lambda *operands: (function(*map(unsigned, operands)) & 1).astype(np.bool_)

    return handler


def _divide_toward_zero(a: Array, b: Array) -> Array:
    down = np.floor_divide(a, b)
    inexact = (a - down * b) != 0
    return np.where(inexact & ((a < 0) != (b < 0)) & (b != 0), down + a.dtype.type(1), down)


def _ceil_divide(a: Array, b: Array) -> Array:
    down = np.floor_divide(a, b)
    return np.where((a - down * b != 0) & (b != 0), down + a.dtype.type(1), down)


def _clamp_shift(shift: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Shift by at most the width; NumPy defines the result there (0, or the sign)."""

    def clamped(a: Array, b: Array) -> Array:
        width = a.dtype.itemsize * 8
        return shift(a, np.minimum(unsigned(b), width).astype(a.dtype))

    return clamped


def _logical_shift_right(a: Array, b: Array) -> Array:
    return np.right_shift(a, np.minimum(b, a.dtype.itemsize * 8).astype(a.dtype))


def integer_power(base: Array, exponent: Array) -> Array:
    """Raise with wrap-around; a negative exponent leaves only the powers of ±1."""
    result = np.ones(np.broadcast(base, exponent).shape, base.dtype)
    factor, rest = np.broadcast_to(base, result.shape), np.broadcast_to(exponent, result.shape)
    remaining = np.where(rest < 0, rest.dtype.type(0), rest)
    while np.any(remaining != 0):
        result = np.where(remaining & 1, result * factor, result)
        factor, remaining = factor * factor, remaining >> 1
    unit = np.where(base == -1, np.where(rest & 1, base, -base), (base == 1).astype(base.dtype))
    return np.where(rest < 0, unit, result)


def _bit_count(value: Array) -> Array:
    return np.bitwise_count(unsigned(value)).astype(value.dtype)


def count_leading_zeros(value: Array) -> Array:
    """Return the number of zero bits above the highest one."""
    bits = unsigned(value)
    width = bits.dtype.itemsize * 8
    shift = 1
    while shift < width:
        bits = bits | (bits >> bits.dtype.type(shift))
        shift *= 2
    return (width - np.bitwise_count(bits)).astype(value.dtype)


def _count_trailing_zeros(value: Array) -> Array:
    one = value.dtype.type(1)
    return _bit_count(~value & (value - one))


_SIGNED: dict[str, Callable[..., Array]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.divsi": _divide_toward_zero,
    "arith.floordivsi": np.floor_divide,
    "arith.ceildivsi": _ceil_divide,
    "arith.remsi": np.fmod,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.shli": _clamp_shift(np.left_shift),
    "arith.shrsi": _clamp_shift(np.right_shift),
    "math.absi": np.absolute,
    "math.ipowi": integer_power,
}
_UNSIGNED: dict[str, Callable[..., Array]] = {
    "arith.divui": np.floor_divide,
    "arith.ceildivui": _ceil_divide,
    "arith.remui": np.remainder,
    "arith.maxui": np.maximum,
    "arith.minui": np.minimum,
    "arith.shrui": _logical_shift_right,
}
for _name, _function in _SIGNED.items():
    pure(_name)(_signed_op(_function))
for _name, _function in _UNSIGNED.items():
    pure(_name)(_unsigned_op(_function))

pure_table(
    {
        "arith.andi": np.bitwise_and,
        "arith.ori": np.bitwise_or,
        "arith.xori": np.bitwise_xor,
        "math.ctpop": _bit_count,
        "math.ctlz": count_leading_zeros,
        "math.cttz": _count_trailing_zeros,
    }
)

_Predicate = tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]
#: In the order of ``arith.CmpIPredicate``.
_PREDICATES: tuple[_Predicate, ...] = (
    (signed, np.equal),
    (signed, np.not_equal),
    (signed, np.less),
    (signed, np.less_equal),
    (signed, np.greater),
    (signed, np.greater_equal),
    (unsigned, np.less),
    (unsigned, np.less_equal),
    (unsigned, np.greater),
    (unsigned, np.greater_equal),
)


@pure("arith.cmpi")
def _compare(op: Operation) -> Callable[..., Array]:
    view, compare = _PREDICATES[op.attributes["predicate"].value]
    return lambda a, b: compare(view(a), view(b))


def _wide_product(wider: Callable[[Array], Array]) -> Callable[[Array, Array], Any]:
    """Return the low and the high half of a product, for widths up to 64."""

    def halves(a: Array, b: Array) -> tuple[Array, Array]:
        width = a.dtype.itemsize * 8
        exact = wider(a).astype(object) * wider(b).astype(object)
        high = np.asarray(exact >> width)
        wrapped = (high + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))
        return a * b, np.asarray(wrapped).astype(a.dtype)

    return halves


pure_table(
    {
        "arith.mulsi_extended": _wide_product(signed),
        "arith.mului_extended": _wide_product(unsigned),
        "arith.addui_extended": lambda a, b: (a + b, unsigned(a + b) < unsigned(a)),
    }
)
