"""Arithmetic on scalars, which are the same in all warps of a program."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

INDEX_BITS = 64


def bits_of(type_text: str) -> int:
    return INDEX_BITS if type_text == "index" else int(type_text[1:])


def signed(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def _on_unsigned(function: Callable[[int, int], int]) -> Callable[..., int]:
    return lambda bits, a, b: function(unsigned(a, bits), unsigned(b, bits))


def _toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


#: Functions of the operands' width and the operands; results are brought into range.
ARITHMETIC: dict[str, Callable[..., int]] = {
    "arith.addi": lambda _, a, b: a + b,
    "arith.subi": lambda _, a, b: a - b,
    "arith.muli": lambda _, a, b: a * b,
    "arith.divui": _on_unsigned(lambda a, b: a // b),
    "arith.remui": _on_unsigned(lambda a, b: a % b),
    "arith.divsi": lambda _, a, b: _toward_zero(a, b),
    "arith.remsi": lambda _, a, b: a - b * _toward_zero(a, b),
    "arith.floordivsi": lambda _, a, b: a // b,
    "arith.ceildivsi": lambda _, a, b: -(-a // b),
    "arith.minui": _on_unsigned(min),
    "arith.maxui": _on_unsigned(max),
    "arith.minsi": lambda _, a, b: min(a, b),
    "arith.maxsi": lambda _, a, b: max(a, b),
    "arith.andi": lambda _, a, b: a & b,
    "arith.ori": lambda _, a, b: a | b,
    "arith.xori": lambda _, a, b: a ^ b,
    "arith.shli": lambda _, a, b: a << b,
    "arith.shrui": _on_unsigned(lambda a, b: a >> b),
    "arith.shrsi": lambda _, a, b: a >> b,
    "arith.index_cast": lambda _, a: a,
    "arith.index_castui": lambda bits, a: unsigned(a, bits),
    "arith.extsi": lambda _, a: a,
    "arith.extui": lambda bits, a: unsigned(a, bits),
    "arith.trunci": lambda _, a: a,
    "arith.select": lambda _, condition, a, b: a if condition else b,
}

COMPARISONS: tuple[Callable[[int, int], bool], ...] = (  # in the order of arith.cmpi's predicates
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)


def compare(predicate: int, bits: int) -> Callable[[int, int], bool]:
    if predicate < len(COMPARISONS):
        return COMPARISONS[predicate]
    function = COMPARISONS[predicate - 4]  # ult, ule, ugt, uge
    return lambda a, b: function(unsigned(a, bits), unsigned(b, bits))


def function_of(op: Any) -> Callable[..., Any] | None:
    """What an op on scalars computes; None when it is none of these."""
    types = [str(value.type) for value in (*op.operands, *op.results)]
    if not types or not all(re.fullmatch(r"index|i\d+", text) for text in types):
        return None
    result, operand = bits_of(types[-1]), bits_of(types[0])
    if op.name == "arith.cmpi":
        compared = compare(op.attributes["predicate"].value, operand)
        return lambda a, b: int(compared(a, b))
    function = ARITHMETIC.get(op.name)
    if function is None:
        return None
    if result == 1:
        return lambda *operands: unsigned(function(operand, *operands), 1)
    return lambda *operands: signed(function(operand, *operands), result)
