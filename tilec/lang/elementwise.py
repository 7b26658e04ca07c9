"""Arithmetic, comparisons, bits and selection, element by element, with NumPy's broadcasting.

Operands are tiles, run-time scalars and Python numbers; on Python numbers alone a function computes
at once. Results are tiles, or scalars if no operand is a tile. Integers wrap.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

from tilec.diagnostics import TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.conversion import CMPF, CMPI, compare_handles, convert, select
from tilec.lang.dtypes import DType, as_dtype
from tilec.lang.emit import Handle, current
from tilec.lang.operands import (
    Unified,
    as_operand,
    broadcast_shapes,
    common_dtype,
    describe,
    is_number,
    materialize,
    strong_dtypes,
    unify,
)
from tilec.lang.promotion import as_float
from tilec.lang.values import INDEX, Operand, Scalar, Tile, Traced

_FP8 = (dtypes.float8_e4m3fn, dtypes.float8_e5m2)


def arithmetic(what: str, *values: Operand, dtype: DType | None = None) -> Unified:
    """Operands of an arithmetic op: booleans count as integers, and 8-bit floats are refused."""
    operands = unify(what, *values, dtype=dtype)
    if operands.dtype.is_bool:
        wide = INDEX if operands.weak else dtypes.int32
        return unify(what, *values, dtype=wide)
    check_arithmetic(what, operands.dtype)
    return operands


def check_arithmetic(what: str, dtype: DType) -> None:
    """Refuse the dtypes that only loads, stores, conversions and mma take.

    Raises:
        TypeMismatchError: The dtype is an 8-bit float.
    """
    if dtype in _FP8:
        raise TypeMismatchError(
            f"{what}: {dtype} has no arithmetic", hint="convert it first: x.to(tl.float32)"
        )


def numbers(values: tuple[object, ...]) -> bool:
    """Whether all operands are Python numbers, so that Python computes the result."""
    return builtins.all(is_number(value) for value in values)


def float_op(operands: Unified, name: str) -> Any:
    """Emit an arith op that may be contracted into a fused multiply-add."""
    fast = operands.emitter.dialects.attribute("#arith.fastmath<contract>")
    return operands.op(name, fastmath=fast)


def _ring(
    what: str, python: Callable[[Any, Any], Any], x: Operand, y: Operand, integer: str, float_: str
) -> Any:
    if numbers((x, y)):
        return python(x, y)
    operands = arithmetic(what, x, y)
    if operands.dtype.is_float:
        return float_op(operands, float_)
    return operands.op(integer)


def add(x: Operand, y: Operand) -> Any:
    """``x + y``."""
    return _ring("+", operator.add, x, y, "arith.addi", "arith.addf")


def subtract(x: Operand, y: Operand) -> Any:
    """``x - y``."""
    return _ring("-", operator.sub, x, y, "arith.subi", "arith.subf")


def multiply(x: Operand, y: Operand) -> Any:
    """``x * y``."""
    return _ring("*", operator.mul, x, y, "arith.muli", "arith.mulf")


def divide(x: Operand, y: Operand) -> Any:
    """``x / y`` in floating point; IEEE division."""
    if numbers((x, y)):
        return x / y  # type: ignore[operator]
    return float_op(float_operands("/", x, y), "arith.divf")


def float_operands(what: str, *values: Operand) -> Unified:
    """Operands of a function on floats; small integers become float32."""
    operands = [as_operand(what, value) for value in values]
    strong = strong_dtypes(operands)
    dtype = as_float(common_dtype(operands, strong)) if strong else dtypes.float32
    check_arithmetic(what, dtype)
    return unify(what, *operands, dtype=dtype)


def negative(x: Operand) -> Any:
    """``-x``."""
    if is_number(x):
        return -x  # type: ignore[operator]
    operands = arithmetic("-", x)
    if operands.dtype.is_float:
        return float_op(operands, "arith.negf")
    operands.handles.insert(0, operands.constant(0))
    return operands.op("arith.subi")


def absolute(x: Operand) -> Any:
    """``|x|``; the smallest signed integer stays as it is."""
    if is_number(x):
        return builtins.abs(x)  # type: ignore[arg-type]
    operands = arithmetic("abs", x)
    if operands.dtype.is_float:
        return operands.op("math.absf")
    if operands.dtype is INDEX:
        return select_op(compare("<", x, 0), negative(x), x)
    return operands.op("math.absi") if operands.dtype.is_signed else x


def invert(x: Operand) -> Any:
    """``~x``: the logical not of a bool, all bits flipped of an integer."""
    if is_number(x):
        return ~x  # type: ignore[operator]
    operands = bits("~", x)
    operands.handles.append(operands.constant(1 if operands.dtype.is_bool else all_ones(operands)))
    return operands.op("arith.xori")


def all_ones(operands: Unified) -> int:
    """The integer whose every bit is set, in the operands' dtype."""
    return -1 if operands.dtype.is_signed else int(operands.dtype.largest)


def bits(what: str, *values: Operand) -> Unified:
    """Operands of a bitwise op.

    Raises:
        TypeMismatchError: The operands are floats.
    """
    operands = unify(what, *values)
    if operands.dtype.is_float:
        raise TypeMismatchError(f"{what} works on integers and booleans, found {operands.dtype}")
    return operands


_BITWISE: dict[str, str] = {"&": "arith.andi", "|": "arith.ori", "^": "arith.xori"}


def bitwise(symbol: str, x: Operand, y: Operand) -> Any:
    """``x & y``, ``x | y`` or ``x ^ y``."""
    if numbers((x, y)):
        python = {"&": "and_", "|": "or_", "^": "xor"}[symbol]
        return getattr(operator, python)(x, y)
    return bits(symbol, x, y).op(_BITWISE[symbol])


def shift_left(x: Operand, y: Operand) -> Any:
    """``x << y``; 0 when ``y`` is negative or at least the width, as in NumPy."""
    if numbers((x, y)):
        return x << y  # type: ignore[operator]
    operands = _shift_operands("<<", x, y)
    if _shift_in_range(y, operands.dtype):
        return operands.op("arith.shli")
    count = operands.handles[1]
    inside = _count_in_range(operands, count)
    zero = operands.constant(0)
    operands.handles[1] = _select(operands, inside, count, zero)
    shifted = operands.op("arith.shli").handle
    return operands.result(_select(operands, inside, shifted, zero))


def shift_right(x: Operand, y: Operand) -> Any:
    """``x >> y``; only sign bits when ``y`` is negative or at least the width, as in NumPy."""
    if numbers((x, y)):
        return x >> y  # type: ignore[operator]
    operands = _shift_operands(">>", x, y)
    signed = operands.dtype.is_signed
    name = "arith.shrsi" if signed else "arith.shrui"
    if _shift_in_range(y, operands.dtype):
        return operands.op(name)
    count = operands.handles[1]
    inside = _count_in_range(operands, count)
    last = operands.constant(operands.dtype.bits - 1 if signed else 0)
    operands.handles[1] = _select(operands, inside, count, last)
    shifted = operands.op(name)
    if signed:
        return shifted
    return operands.result(_select(operands, inside, shifted.handle, operands.constant(0)))


def _shift_operands(what: str, x: Operand, y: Operand) -> Unified:
    operands = bits(what, x, y)
    if operands.dtype.is_bool:
        operands = unify(what, x, y, dtype=dtypes.int32)
    if isinstance(x, Traced) and is_number(y) and not _shift_in_range(y, operands.dtype):
        # A count that does not fit the dtype is still only "at least the width".
        operands = unify(what, x, operands.dtype.bits, dtype=operands.dtype)
    return operands


def _shift_in_range(count: Operand, dtype: DType) -> bool:
    return is_number(count) and 0 <= count < dtype.bits  # type: ignore[operator]


def _count_in_range(operands: Unified, count: Handle) -> Handle:
    width = operands.constant(operands.dtype.bits)
    return compare_handles(
        operands.emitter, "arith.cmpi", CMPI["ult"], count, width, operands.shape
    )


def _select(operands: Unified, condition: Handle, yes: Handle, no: Handle) -> Handle:
    return select(operands.emitter, condition, yes, no, operands.dtype, operands.shape)


_COMPARISONS: dict[str, tuple[str, str, Callable[[Any, Any], Any]]] = {
    "==": ("eq", "oeq", operator.eq),
    "!=": ("ne", "une", operator.ne),
    "<": ("lt", "olt", operator.lt),
    "<=": ("le", "ole", operator.le),
    ">": ("gt", "ogt", operator.gt),
    ">=": ("ge", "oge", operator.ge),
}


def compare(symbol: str, x: object, y: object) -> Any:
    """A comparison; false where an operand is NaN, except ``!=``."""
    integer, float_, python = _COMPARISONS[symbol]
    if numbers((x, y)):
        return python(x, y)
    operands = unify(symbol, x, y)
    check_arithmetic(symbol, operands.dtype)
    left, right = operands.handles
    if operands.dtype.is_float:
        name, predicate = "arith.cmpf", CMPF[float_]
    else:
        sign = "" if symbol in ("==", "!=") else "s" if operands.dtype.is_signed else "u"
        name, predicate = "arith.cmpi", CMPI[sign + integer]
    handle = compare_handles(operands.emitter, name, predicate, left, right, operands.shape)
    return operands.result(handle, dtypes.bool_)


def _extreme(what: str, x: Operand, y: Operand, propagate_nan: bool) -> Any:
    if numbers((x, y)):
        return _extreme_number(what, x, y, propagate_nan)  # type: ignore[arg-type]
    operands = unify(what, x, y)
    check_arithmetic(what, operands.dtype)
    return operands.op(extreme_op(what, operands.dtype, propagate_nan))


def extreme_op(what: str, dtype: DType, propagate_nan: bool) -> str:
    """The arith op for ``minimum`` or ``maximum`` on a dtype."""
    stem = what[:3]
    if dtype.is_float:
        return f"arith.{stem}imumf" if propagate_nan else f"arith.{stem}numf"
    return f"arith.{stem}si" if dtype.is_signed else f"arith.{stem}ui"


def _extreme_number(what: str, x: float, y: float, propagate_nan: bool) -> float:
    if x != x or y != y:
        x_is_nan = x != x
        return x if x_is_nan == propagate_nan else y
    return builtins.min(x, y) if what == "minimum" else builtins.max(x, y)


def minimum(x: Operand, y: Operand, *, propagate_nan: bool = True) -> Any:
    """The smaller one; NaN if either is NaN, or the other one if ``propagate_nan`` is false."""
    return _extreme("minimum", x, y, propagate_nan)


def maximum(x: Operand, y: Operand, *, propagate_nan: bool = True) -> Any:
    """The larger one; NaN if either is NaN, or the other one if ``propagate_nan`` is false."""
    return _extreme("maximum", x, y, propagate_nan)


def clamp(x: Operand, low: Operand, high: Operand) -> Any:
    """``x`` limited to ``[low, high]``; NaN stays NaN."""
    return minimum(maximum(x, low), high)


def where(condition: Operand, x: Operand, y: Operand) -> Any:
    """``x`` where ``condition`` holds, else ``y``; both are evaluated.

    Raises:
        TypeMismatchError: The condition is not boolean.
    """
    if isinstance(condition, bool):
        if numbers((x, y)):
            return x if condition else y
    elif not (isinstance(condition, Traced) and condition.dtype.is_bool):
        raise TypeMismatchError(
            f"where: expected a bool condition, found {describe(condition)}",
            hint="compare it with something, e.g. x != 0",
        )
    return select_op(condition, x, y)


def select_op(condition: Operand, x: Operand, y: Operand) -> Any:
    """Emit arith.select on a boolean condition, a tile or a scalar."""
    what = "where"
    emitter = current(what)
    tiles = [v.shape for v in (condition, x, y) if isinstance(v, Tile)]
    shape = broadcast_shapes(what, tiles) if tiles else None
    values = unify(what, x, y, shape=shape)
    # A scalar condition selects whole tiles.
    condition_shape = shape if isinstance(condition, Tile) and condition.shape != () else None
    chosen = materialize(emitter, condition, dtypes.bool_, condition_shape)
    return values.result(_select(values, chosen, *values.handles))


def astype(x: Operand, dtype: object) -> Any:
    """``x`` converted to ``dtype``.

    Integers wrap; floats are rounded to nearest even; a float that becomes an integer is truncated,
    saturates out of range, and NaN becomes 0. A converted scalar is weak no longer.
    """
    target = as_dtype(dtype)
    operand = as_operand("to", x)
    emitter = current("to")
    if isinstance(operand, Tile):
        handle = convert(emitter, operand.handle, operand.dtype, target, operand.shape)
        return Tile(handle, operand.shape, target)
    return Scalar(materialize(emitter, operand, target, None), target, weak=False)


def bitcast(x: Tile, dtype: object) -> Tile:
    """The same bits read as another dtype of the same width.

    Raises:
        TypeMismatchError: The widths differ.
    """
    target = as_dtype(dtype)
    operands = unify("bitcast", x)
    source = operands.dtype
    if source.bits != target.bits or source.is_bool or target.is_bool:
        raise TypeMismatchError(
            f"bitcast: {source} has {source.bits} bits, {target} has {target.bits}"
            if source.bits != target.bits
            else f"bitcast: {source} to {target} would expose how booleans are kept"
        )
    if source.mlir == target.mlir:
        return operands.result(operands.handles[0], target)
    result = operands.type(target)
    handle = operands.emitter.value("arith.bitcast", operands.handles, result)
    return operands.result(handle, target)


def popcount(x: Operand) -> Any:
    """The number of bits that are set."""
    return _count_bits("popcount", "math.ctpop", x)


def clz(x: Operand) -> Any:
    """The number of leading zero bits; the width for 0."""
    return _count_bits("clz", "math.ctlz", x)


def _count_bits(what: str, name: str, x: Operand) -> Any:
    operands = bits(what, x)
    if operands.dtype.is_bool or operands.dtype is INDEX:
        raise TypeMismatchError(f"{what} needs an integer dtype, found {describe(x)}")
    return operands.op(name)


def mulhi(x: Operand, y: Operand) -> Any:
    """The upper half of the double-width product of two integers."""
    operands = bits("mulhi", x, y)
    if operands.dtype.is_bool or operands.dtype is INDEX:
        raise TypeMismatchError(f"mulhi needs integer tiles, found {operands.dtype}")
    name = "arith.mulsi_extended" if operands.dtype.is_signed else "arith.mului_extended"
    both = operands.emitter.op(name, operands.handles, [operands.type()] * 2)
    return operands.result(both.results[1])
