"""Matrix products on tiles."""

from __future__ import annotations

from typing import Any

from tilec.diagnostics import TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.dtypes import DType
from tilec.lang.emit import current
from tilec.lang.operands import as_operand, describe
from tilec.lang.values import Tile


def mma(a: Tile, b: Tile, acc: Tile) -> Tile:
    """``a @ b + acc``.

    float32 operands are multiplied exactly; convert both to ``tl.tfloat32`` to allow the tensor
    cores' shorter significand. The order of accumulation is unspecified but fixed for a kernel.

    Shapes:
        a: (M, K), b: (K, N), acc and result: (M, N).

    Args:
        a: Left operand.
        b: Right operand, of the same dtype (8-bit floats may be mixed, and so may signed and
            unsigned 8-bit integers).
        acc: Accumulator: float32 for floats of at most 32 bits (or the operands' own dtype if
            that is float16 or bfloat16), float64 for float64, int32 for integers.

    Raises:
        TypeMismatchError: Ranks, extents or dtypes do not fit.
    """
    tiles = [_matrix(name, value) for name, value in (("lhs", a), ("rhs", b), ("acc", acc))]
    lhs, rhs, accumulator = tiles
    _check_extents(lhs, rhs, accumulator)
    _check_dtypes(lhs.dtype, rhs.dtype, accumulator.dtype)
    emitter = current("mma")
    flags = {
        "allow_tf32": lhs.dtype is dtypes.tfloat32,
        "lhs_unsigned": lhs.dtype.is_integer and not lhs.dtype.is_signed,
        "rhs_unsigned": rhs.dtype.is_integer and not rhs.dtype.is_signed,
    }
    attributes = {name: emitter.dialects.unit() for name, on in flags.items() if on}
    handles = [tile.handle for tile in tiles]
    result = emitter.type_of(accumulator.dtype, accumulator.shape)
    handle = emitter.value("tile.mma", handles, result, attributes)
    return Tile(handle, accumulator.shape, accumulator.dtype)


def _matrix(name: str, value: object) -> Tile:
    operand = as_operand("mma", value)
    if not isinstance(operand, Tile) or operand.ndim != 2:
        raise TypeMismatchError(f"mma: {name} must be a tile of rank 2, found {describe(operand)}")
    return operand


def _check_extents(lhs: Tile, rhs: Tile, acc: Tile) -> None:
    if lhs.shape[1] != rhs.shape[0]:
        transposed = rhs.shape[1] == lhs.shape[1]
        raise TypeMismatchError(
            f"mma operands disagree on K: lhs is {lhs.shape}, rhs is {rhs.shape}",
            hint="transpose the right operand: b.T" if transposed else None,
        )
    expected = (lhs.shape[0], rhs.shape[1])
    if acc.shape != expected:
        raise TypeMismatchError(f"mma accumulator must be {expected}, found {acc.shape}")


def _check_dtypes(lhs: DType, rhs: DType, acc: DType) -> None:
    mixable = lhs.bits == rhs.bits == 8 and lhs.is_float == rhs.is_float
    if lhs.is_bool or rhs.is_bool or (lhs is not rhs and not mixable):
        raise TypeMismatchError(
            f"mma operands must have one dtype, found {lhs} and {rhs}",
            hint=None if lhs.is_bool else f"convert one of them: x.to(tl.{lhs})",
        )
    allowed = _accumulators(lhs)
    if acc not in allowed:
        names = " or ".join(str(dtype) for dtype in allowed)
        raise TypeMismatchError(f"mma of {lhs} accumulates in {names}, found {acc}")


def _accumulators(operand: DType) -> tuple[DType, ...]:
    if operand is dtypes.float64:
        return (dtypes.float64,)
    if operand in (dtypes.float16, dtypes.bfloat16):
        return (dtypes.float32, operand)
    if operand.is_float:
        return (dtypes.float32,)
    if operand.bits <= 32:
        return (dtypes.int32,)
    return (operand,)


def product(a: Any, b: Any) -> Tile:
    """``a @ b``, accumulated from zero."""
    from tilec.lang.shape import zeros

    lhs, rhs = _matrix("lhs", a), _matrix("rhs", b)
    return mma(lhs, rhs, zeros((lhs.shape[0], rhs.shape[1]), _accumulators(lhs.dtype)[0]))
