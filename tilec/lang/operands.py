"""From what an author wrote as operands to MLIR values of one dtype and one shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from tilec.diagnostics import TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.conversion import convert
from tilec.lang.dtypes import DType
from tilec.lang.emit import Emitter, Handle, current
from tilec.lang.promotion import (
    DEFAULTS,
    Weak,
    check_literal,
    kind_of,
    promote,
    promote_weak,
    weak_kind,
)
from tilec.lang.values import INDEX, Operand, Scalar, Tile, Traced, Undefined


@dataclass
class Unified:
    """Operands brought to one dtype and one shape (None: all were scalars)."""

    emitter: Emitter
    handles: list[Handle]
    dtype: DType
    shape: tuple[int, ...] | None
    weak: bool

    def result(self, handle: Handle, dtype: DType | None = None) -> Any:
        """Wrap the value of an elementwise op on these operands."""
        dtype = dtype or self.dtype
        if self.shape is None:
            return Scalar(handle, dtype, weak=self.weak)
        return Tile(handle, self.shape, dtype)

    def result_tile(self) -> Tile:
        """The first operand, as a tile."""
        return Tile(self.handles[0], self.shape or (), self.dtype)

    def type(self, dtype: DType | None = None) -> Any:
        """The MLIR type of a result."""
        return self.emitter.type_of(dtype or self.dtype, self.shape)

    def op(self, name: str, **attributes: Any) -> Any:
        """Emit an op on all operands whose result has their type."""
        return self.result(self.emitter.value(name, self.handles, self.type(), attributes or None))

    def constant(self, value: bool | int | float) -> Handle:
        """A constant of the operands' type."""
        return self.emitter.constant(value, self.dtype, self.shape)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether ``value`` is a tuple or a list."""
    return isinstance(value, (tuple, list))


def is_number(value: object) -> TypeGuard[bool | int | float]:
    """Whether ``value`` is a Python number (a NumPy scalar has been turned into one)."""
    return isinstance(value, (bool, int, float))


def as_operand(what: str, value: object) -> Operand:
    """``value`` as a tile, a scalar or a Python number.

    Raises:
        TypeMismatchError: It is none of them.
        TraceError: It is a variable that not every path has bound.
    """
    if isinstance(value, (Traced, bool, int, float)):
        return value
    if isinstance(value, Undefined):
        raise value.error()
    item = getattr(value, "item", None)
    if getattr(value, "shape", None) == () and callable(item):  # a NumPy scalar
        return as_operand(what, item())
    raise TypeMismatchError(
        f"{what}: expected a tile, a scalar or a number, found {describe(value)}"
    )


def describe(value: object) -> str:
    """A value in an error text."""
    if isinstance(value, Traced):
        return repr(value)[1:-1]
    if is_number(value) or value is None:
        return repr(value)
    return f"a {type(value).__name__}"


def unify(
    what: str, *values: object, dtype: DType | None = None, shape: tuple[int, ...] | None = None
) -> Unified:
    """Bring operands to one dtype (their promotion unless given) and one broadcast shape.

    Raises:
        TypeMismatchError: No common dtype or shape, or a literal that does not fit.
    """
    emitter = current(what)
    operands = [as_operand(what, value) for value in values]
    strong = strong_dtypes(operands)
    if dtype is None:
        dtype = common_dtype(operands, strong)
        if dtype is INDEX and shape is not None:  # no tile has index elements
            dtype = dtypes.int32
    if any(isinstance(x, Tile) for x in operands) or shape is not None:
        shape = broadcast_shapes(what, [x.shape for x in operands if isinstance(x, Tile)], shape)
    handles = [materialize(emitter, x, dtype, shape) for x in operands]
    return Unified(emitter, handles, dtype, shape, weak=not strong)


def strong_dtypes(operands: Sequence[Operand]) -> list[DType]:
    """The dtypes of the operands that are not weak."""
    return [x.dtype for x in operands if isinstance(x, Traced) and not _is_weak(x)]


def _is_weak(value: Operand) -> bool:
    return not isinstance(value, Traced) or (isinstance(value, Scalar) and value.weak)


def common_dtype(operands: Sequence[Operand], strong: Sequence[DType]) -> DType:
    """The promotion of operands of which ``strong`` are the dtypes that are not weak."""
    kinds = [_weak_kind_of(x) for x in operands if _is_weak(x)]
    kind = max(kinds, default=Weak.BOOL)
    if strong:
        result = strong[0]
        for other in strong[1:]:
            result = promote(result, other)
        return promote_weak(result, kind)
    if kind is Weak.INT:
        return dtypes.uint64 if _any_uint64(operands) else INDEX
    return DEFAULTS[kind]


def _weak_kind_of(value: Operand) -> Weak:
    return weak_kind(value.dtype) if isinstance(value, Traced) else kind_of(value)


def _any_uint64(operands: Sequence[Operand]) -> bool:
    return any(isinstance(x, Scalar) and x.dtype is dtypes.uint64 for x in operands)


def broadcast_shapes(
    what: str, shapes: Sequence[tuple[int, ...]], target: tuple[int, ...] | None = None
) -> tuple[int, ...]:
    """The shape that all of ``shapes`` broadcast to, by NumPy's rule.

    Raises:
        TypeMismatchError: Two extents differ and neither is 1, or ``target`` is not the result.
    """
    result: tuple[int, ...] = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        left = (1,) * (rank - len(result)) + result
        right = (1,) * (rank - len(shape)) + shape
        if any(a != b and 1 not in (a, b) for a, b in zip(left, right, strict=True)):
            raise TypeMismatchError(f"{what}: shapes {result} and {shape} do not broadcast")
        result = tuple(b if a == 1 else a for a, b in zip(left, right, strict=True))
    if target is None or result == target:
        return result
    if broadcast_shapes(what, [result, target]) != target:
        raise TypeMismatchError(f"{what}: shape {result} does not broadcast to {target}")
    return target


def materialize(
    emitter: Emitter, value: Operand, dtype: DType, shape: tuple[int, ...] | None
) -> Handle:
    """``value`` as an MLIR value of a dtype, and of a shape unless that is None."""
    if not isinstance(value, Traced):
        if dtype is not INDEX:
            check_literal(value, dtype)
        return emitter.constant(value, dtype, shape)
    if isinstance(value, Scalar):
        handle = convert(emitter, value.handle, value.dtype, dtype, None)
        if shape is None:
            return handle
        return emitter.value("tile.splat", (handle,), emitter.type_of(dtype, shape))
    handle = convert(emitter, value.handle, value.dtype, dtype, value.shape)
    if shape is None:
        return emitter.value("tile.extract", (handle,), emitter.type_of(dtype, None))
    return broadcast_handle(emitter, handle, dtype, value.shape, shape)


def broadcast_handle(
    emitter: Emitter, handle: Handle, dtype: DType, shape: tuple[int, ...], target: tuple[int, ...]
) -> Handle:
    """Broadcast a tile's value; the shapes are known to fit."""
    if len(shape) != len(target):
        shape = (1,) * (len(target) - len(shape)) + shape
        handle = emitter.value("tile.reshape", (handle,), emitter.type_of(dtype, shape))
    if shape != target:
        handle = emitter.value("tile.broadcast", (handle,), emitter.type_of(dtype, target))
    return handle


def scalar_handle(what: str, value: object, dtype: DType) -> Handle:
    """A scalar, a number or a one-element tile as an MLIR scalar of ``dtype``.

    Raises:
        TypeMismatchError: The value has more than one element, or a kind above ``dtype``'s.
    """
    operand = as_operand(what, value)
    if isinstance(operand, Tile) and any(extent != 1 for extent in operand.shape):
        raise TypeMismatchError(f"{what}: expected one number, found {describe(operand)}")
    if _weak_kind_of(operand) > weak_kind(dtype):
        raise TypeMismatchError(f"{what}: expected {dtype}, found {describe(operand)}")
    return materialize(current(what), operand, dtype, None)


def index_handle(what: str, value: object) -> Handle:
    """An integer, however given, as an MLIR index.

    Raises:
        TypeMismatchError: The value is no integer.
    """
    operand = as_operand(what, value)
    if _weak_kind_of(operand) is not Weak.INT:
        raise TypeMismatchError(f"{what}: expected an integer, found {describe(operand)}")
    return scalar_handle(what, operand, INDEX)
