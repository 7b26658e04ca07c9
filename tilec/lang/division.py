"""Floor division and its remainder, with the results that arith leaves undefined defined.

As in NumPy: ``x // 0`` and ``x % 0`` are 0 on integers, and the smallest integer divided by -1 is
itself. A divisor that is a Python number needs no guard.
"""

from __future__ import annotations

from typing import Any

from tilec.diagnostics import TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.conversion import CMPI, compare_handles
from tilec.lang.elementwise import (
    arithmetic,
    compare,
    divide,
    multiply,
    negative,
    numbers,
    select_op,
    subtract,
)
from tilec.lang.emit import Handle
from tilec.lang.mathematics import copysign, floor
from tilec.lang.operands import Unified, is_number
from tilec.lang.values import Operand


def floor_divide(x: Operand, y: Operand) -> Any:
    """``x // y``, rounded down."""
    if numbers((x, y)):
        return x // y  # type: ignore[operator]
    operands = arithmetic("//", x, y)
    if operands.dtype.is_float:
        return _float_floor_divide(*_wrap(operands))
    return _guarded(operands, y, "arith.floordivsi", "arith.divui")


def cdiv(x: Operand, y: Operand) -> Any:
    """``x / y`` rounded up, on integers."""
    if numbers((x, y)):
        return -(-x // y)  # type: ignore[operator]
    operands = arithmetic("cdiv", x, y)
    if operands.dtype.is_float:
        raise TypeMismatchError(f"cdiv works on integers, found {operands.dtype}")
    return _guarded(operands, y, "arith.ceildivsi", "arith.ceildivui")


def remainder(x: Operand, y: Operand) -> Any:
    """``x % y``, with the sign of ``y``."""
    if numbers((x, y)):
        return x % y  # type: ignore[operator]
    operands = arithmetic("%", x, y)
    if operands.dtype.is_float:
        return _float_remainder(*_wrap(operands))
    if not operands.dtype.is_signed:
        operands.handles[1] = _safe_divisor(operands, y)
        return operands.op("arith.remui")
    operands.handles[1] = _safe_divisor(operands, y)
    divisor = operands.result(operands.handles[1])
    rest = operands.op("arith.remsi")
    # remsi has the sign of x; move it to that of y.
    moved = compare("<", rest, 0) != compare("<", divisor, 0)
    return select_op((rest != 0) & moved, rest + divisor, rest)


def _guarded(operands: Unified, y: Operand, signed: str, unsigned: str) -> Any:
    """A division whose result is 0 for divisor 0 and wraps for the smallest integer by -1."""
    if is_number(y):
        if y == 0:
            return operands.result(operands.constant(0))
        if y == -1:
            return negative(operands.result(operands.handles[0]))
    divisor = operands.handles[1]
    operands.handles[1] = _safe_divisor(operands, y)
    quotient = operands.op(signed if operands.dtype.is_signed else unsigned)
    if is_number(y):
        return quotient
    return select_op(operands.result(divisor) != 0, quotient, 0)


def _safe_divisor(operands: Unified, y: Operand) -> Handle:
    """The divisor, replaced by 1 where the division is undefined: the remainder is then right."""
    value, divisor = operands.handles
    dtype, shape, emitter = operands.dtype, operands.shape, operands.emitter
    if is_number(y) and y not in (0, -1):
        return divisor

    def equal(handle: Handle, number: int) -> Handle:
        constant = operands.constant(number)
        return compare_handles(emitter, "arith.cmpi", CMPI["eq"], handle, constant, shape)

    unsafe = equal(divisor, 0)
    if dtype.is_signed:
        boolean = emitter.type_of(dtypes.bool_, shape)
        smallest, minus_one = equal(value, int(dtype.smallest)), equal(divisor, -1)
        overflow = emitter.value("arith.andi", (smallest, minus_one), boolean)
        unsafe = emitter.value("arith.ori", (unsafe, overflow), boolean)
    one = operands.constant(1)
    return emitter.value("arith.select", (unsafe, one, divisor), operands.type())


def _wrap(operands: Unified) -> tuple[Any, Any, Unified]:
    x, y = operands.handles
    return operands.result(x), operands.result(y), operands


def _float_remainder(x: Any, y: Any, operands: Unified) -> Any:
    rest = operands.op("arith.remf")
    moved = compare("<", rest, 0.0) != compare("<", y, 0.0)
    shifted = select_op(moved, rest + y, rest)
    return select_op(rest != 0.0, shifted, copysign(select_op(rest != rest, rest, 0.0), y))


def _float_floor_divide(x: Any, y: Any, operands: Unified) -> Any:
    """NumPy's algorithm: exact where the quotient is, and never one too large by rounding."""
    rest = operands.op("arith.remf")
    quotient = divide(subtract(x, rest), y)
    moved = (rest != 0.0) & (compare("<", rest, 0.0) != compare("<", y, 0.0))
    quotient = select_op(moved, subtract(quotient, 1.0), quotient)
    down = floor(quotient)
    down = select_op(compare(">", subtract(quotient, down), 0.5), down + 1.0, down)
    plain = divide(x, y)
    down = select_op(quotient != 0.0, down, copysign(multiply(plain, 0.0), plain))
    return select_op(y != 0.0, down, plain)
