"""Where control flow meets: which MLIR type a variable has there, and how values get to it.

A variable's value is a tree: tuples, lists and dicts of tiles, scalars and Python objects. Python
objects that are the same on every path stay what they are; numbers that differ become run-time
scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from tilec.diagnostics import TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.dtypes import DType
from tilec.lang.emit import Emitter, Handle
from tilec.lang.operands import describe, is_number, materialize
from tilec.lang.promotion import Weak, check_literal, kind_of, weak_kind
from tilec.lang.values import INDEX, Scalar, Tile, Traced, Undefined

_WEAK_DTYPES = {Weak.BOOL: dtypes.bool_, Weak.INT: INDEX, Weak.FLOAT: dtypes.float32}


class Unset:
    """The return value of a function that has not returned yet; any value may take its place."""

    def __repr__(self) -> str:
        return "nothing"


UNSET = Unset()


@dataclass(frozen=True)
class Slot:
    """The type of a run-time value where paths meet; ``shape`` is None for scalars."""

    dtype: DType
    shape: tuple[int, ...] | None
    weak: bool

    def wrap(self, handle: Handle) -> Tile | Scalar:
        """A value of this type."""
        if self.shape is None:
            return Scalar(handle, self.dtype, weak=self.weak)
        return Tile(handle, self.shape, self.dtype)

    def handle(self, emitter: Emitter, value: Any) -> Handle:
        """``value`` as an MLIR value of this type; Undefined and UNSET become zeros."""
        if isinstance(value, (Undefined, Unset)):
            value = False if self.dtype.is_bool else 0
        if isinstance(value, Scalar) and value.dtype is self.dtype and self.shape is None:
            return value.handle
        return materialize(emitter, value, self.dtype, self.shape)

    def type(self, emitter: Emitter) -> Any:
        """The MLIR type."""
        return emitter.type_of(self.dtype, self.shape)


class Mismatch(Exception):
    """Two values that cannot meet; carries them for the error text."""

    def __init__(self, left: Any, right: Any) -> None:
        self.left = left
        self.right = right


def slot_of(value: Any) -> Slot:
    """The type of one value."""
    if isinstance(value, Tile):
        return Slot(value.dtype, value.shape, weak=False)
    if isinstance(value, Scalar):
        return Slot(value.dtype, None, weak=value.weak)
    return Slot(_WEAK_DTYPES[kind_of(value)], None, weak=True)


def join(left: Any, right: Any) -> Slot:
    """The type at which two values meet.

    Raises:
        Mismatch: Different dtypes or shapes, or something that is no run-time value.
    """
    for value in (left, right):
        if not (isinstance(value, Traced) or is_number(value)):
            raise Mismatch(left, right)
    a, b = slot_of(left), slot_of(right)
    if a == b:
        return a
    if a.weak and b.weak:
        kind = max(weak_kind(a.dtype), weak_kind(b.dtype))
        if dtypes.bool_ in (a.dtype, b.dtype):
            raise Mismatch(left, right)
        return Slot(_WEAK_DTYPES[kind], None, weak=True)
    if a.weak or b.weak:
        fits = _takes(b, left) if a.weak else _takes(a, right)
        if not fits:
            raise Mismatch(left, right)
        return b if a.weak else a
    if a.dtype is b.dtype and {a.shape, b.shape} <= {None, ()}:
        return Slot(a.dtype, (), weak=False)
    raise Mismatch(left, right)


def _takes(strong: Slot, weak: Any) -> bool:
    """Whether a weak value can become one of a strong type."""
    if weak_kind(slot_of(weak).dtype) > weak_kind(strong.dtype):
        return False
    if is_number(weak):
        try:
            check_literal(weak, strong.dtype)
        except TypeMismatchError:
            return False
    return True


def same(left: Any, right: Any) -> bool:
    """Whether two values are one and need no meeting: the same object, or equal constants."""
    if left is right:
        return True
    if isinstance(left, Traced) or isinstance(right, Traced):
        return (
            type(left) is type(right)
            and left.handle is right.handle
            and slot_of(left) == slot_of(right)
        )
    if type(left) is not type(right) or not isinstance(left, (bool, int, float, str, DType)):
        return False
    return left == right and str(left) == str(right)  # 0.0 and -0.0 differ


Tree = tuple[Any, ...] | list[Any] | dict[Any, Any]


def is_tree(value: object) -> TypeGuard[Tree]:
    """Whether ``value`` has parts that may differ from path to path."""
    return isinstance(value, (tuple, list, dict))


def parts(value: Tree) -> list[Any]:
    """What a tree holds, in order."""
    return list(value.values()) if isinstance(value, dict) else list(value)


def same_structure(values: Sequence[Any]) -> bool:
    """Whether all values are trees of one type, length and keys."""
    first = values[0]
    if not is_tree(first) or not all(
        type(v) is type(first) and len(v) == len(first) for v in values
    ):
        return False
    return not isinstance(first, dict) or all(list(v) == list(first) for v in values)


def rebuild(like: Tree, items: list[Any]) -> Tree:
    """A tree of the same type, named tuples included, with other parts."""
    if isinstance(like, dict):
        return dict(zip(like, items, strict=True))
    if isinstance(like, list):
        return items
    make = getattr(type(like), "_make", None)
    return make(items) if make is not None else tuple(items)


def copied(value: Any) -> Any:
    """A tree whose lists and dicts can be changed on one path without the others seeing it."""
    return rebuild(value, [copied(part) for part in parts(value)]) if is_tree(value) else value


def describe_value(value: Any) -> str:
    """A value in an error text."""
    if is_tree(value):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, Tile):
        return f"{value.dtype} {value.shape}"
    return describe(value)
