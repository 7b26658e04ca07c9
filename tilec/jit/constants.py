"""Compile-time values of arguments: which are allowed, and when two are the same."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from collections.abc import Hashable
from typing import Any, cast

_ATOMS = (bool, int, str, bytes, types.NoneType, types.EllipsisType, range)
_BY_IDENTITY = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
    functools.partial,
    type,
)


class _Identity:
    """Equal to another one of the same object only; keeps the object alive."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.value is self.value


def constant_key(value: Any) -> Hashable:
    """Return a key that is equal for values that compile alike.

    The type is part of it, since ``1``, ``1.0`` and ``True`` are equal but trace differently; so
    is the sign of a zero.

    Raises:
        TypeError: the value can change after it was compiled in, as a list can.

    Example:
        >>> constant_key(1) == constant_key(True)
        False
    """
    kind = cast("type[Any]", type(value))
    if _derives(kind, enum.Enum):
        return kind, value.name
    if _derives(kind, _ATOMS):
        return kind, value
    if _derives(kind, float):
        return kind, value.hex()
    if _derives(kind, complex):
        return kind, value.real.hex(), value.imag.hex()
    if _derives(kind, tuple):
        return kind, tuple(constant_key(item) for item in value)
    if _derives(kind, frozenset):
        return kind, frozenset(constant_key(item) for item in value)
    return _object_key(kind, value)


def _object_key(kind: type[Any], value: Any) -> Hashable:
    if getattr(getattr(kind, "__dataclass_params__", None), "frozen", False):
        return kind, tuple(constant_key(getattr(value, f.name)) for f in dataclasses.fields(kind))
    if _derives(kind, types.MethodType):
        return kind, _Identity(value.__func__), _Identity(value.__self__)
    if _derives(kind, _BY_IDENTITY):
        return kind, _Identity(value)
    if _is_numpy_scalar(kind):
        return kind, value.tobytes()
    raise TypeError(
        f"a compile-time value must be a number, a string, an enum, a function, or a tuple or "
        f"frozen dataclass of these, found a {kind.__name__}"
    )


def _derives(kind: type[Any], bases: Any) -> bool:
    return issubclass(kind, bases)


def _is_numpy_scalar(kind: type[Any]) -> bool:
    return any(base.__module__ == "numpy" and base.__name__ == "generic" for base in kind.__mro__)
