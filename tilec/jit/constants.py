"""Compile-time values of arguments: which are allowed, and when two are the same."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from collections.abc import Hashable
from typing import Any

from tilec.diagnostics import LaunchError

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
        LaunchError: the value can change after it was compiled in, as a list can.

    Example:
        >>> constant_key(1) == constant_key(True)
        False
    """
    kind = type(value)
    if isinstance(value, enum.Enum):
        return kind, value.name
    if isinstance(value, _ATOMS):
        return kind, value
    if isinstance(value, float):
        return kind, value.hex()
    if isinstance(value, complex):
        return kind, value.real.hex(), value.imag.hex()
    if isinstance(value, (tuple, frozenset)):
        items: Any = value
        return kind, kind(constant_key(item) for item in items) if kind is frozenset else tuple(
            constant_key(item) for item in items
        )
    return _object_key(value)


def _object_key(value: Any) -> Hashable:
    kind = type(value)
    if dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen:  # pyright: ignore
        names = (field.name for field in dataclasses.fields(kind))
        return kind, tuple(constant_key(getattr(value, name)) for name in names)
    if isinstance(value, types.MethodType):
        return kind, _Identity(value.__func__), _Identity(value.__self__)
    if isinstance(value, _BY_IDENTITY):
        return kind, _Identity(value)
    if kind.__module__.partition(".")[0] in ("numpy", "ml_dtypes") and hasattr(value, "tobytes"):
        if getattr(value, "ndim", 1) == 0 and not hasattr(value, "__setitem__"):
            return kind, value.tobytes()
    raise LaunchError(
        f"a compile-time value must be immutable, found {value!r} of type {kind.__name__}",
        hint="pass a number, a string, an enum, a tuple, a function or a frozen dataclass",
    )
