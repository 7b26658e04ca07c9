"""What a kernel takes from the Python around it: globals, closures, helpers, constants.

The code objects reachable from a kernel say which names they load. Following these names gives
everything that the result of tracing can depend on beside the arguments, without tracing. Its
digest is part of the cache key: another process finds the kernel again, and a kernel with a changed
global or helper does not. (Within a process, tilec.jit.guards tells whether names still mean the
same objects.)

Values count by content: scalars, strings, enums, containers, frozen dataclasses, functions with
all that they capture in turn. Anything else has no digest, and the kernel is traced in each
process; the reason says which name it was.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, cast

from tilec.trace.code import code_digest, loaded_names, place_content, scalar_content
from tilec.trace.signature import Signature

_OPAQUE = ("tilec", "numpy", "ml_dtypes")
_KERNELS = "tilec.kernels"
_DATACLASS_METHODS = frozenset(
    "__init__ __repr__ __eq__ __lt__ __le__ __gt__ __ge__ __hash__ __setattr__ __delattr__ "
    "__replace__ __getstate__ __setstate__ _dataclass_getstate _dataclass_setstate".split()
)
_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_DESCRIPTORS = (MemberDescriptorType, GetSetDescriptorType)

_ABSENT = object()


@dataclass(frozen=True)
class Captures:
    """What a kernel captures.

    Attributes:
        digest: of all captured values; None when one of them has none.
        reason: which one, or None.
    """

    digest: str | None
    reason: str | None


def captures(function: FunctionType, signature: Signature) -> Captures:
    """Return what a kernel captures at this moment, constants of the signature included."""
    walk = _Walk()
    try:
        content = [walk.function(function), walk.value(signature, "the signature")]
    except RecursionError:
        content, walk.reason = [], "a captured value contains itself"
    digest = None if walk.reason else _digest(content)
    return Captures(digest, walk.reason)


def value_digest(value: object) -> str | None:
    """Return a digest of a value's content, or None when it has none.

    Example:
        >>> value_digest((1, 2.0)) == value_digest((1, 2.0)) != value_digest((1, 2))
        True
        >>> value_digest(object()) is None
        True
    """
    walk = _Walk()
    try:
        content = walk.value(value, "value")
    except RecursionError:
        return None
    return None if walk.reason else _digest(content)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class _Walk:
    """One walk over everything reachable; makes nested lists that JSON can write."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._seen: dict[int, tuple[int, object]] = {}

    def value(self, value: object, name: str) -> object:
        """Return the content of a value that is called ``name`` in error messages."""
        simple = scalar_content(value)
        if simple is not None:
            return simple
        for kind, visit in self._visitors():
            if isinstance(value, kind):
                return visit(value, name)
        raise AssertionError("every value is an object")

    def function(self, function: FunctionType, name: str = "") -> object:
        """Return the content of a function: its code and everything that loads."""
        name = name or function.__name__

        def visit() -> object:
            loaded, free = self._globals(function), self._cells(function)
            return [
                "function",
                code_digest(function.__code__),
                loaded,
                free,
                self.value(function.__defaults__, f"a default of {name}"),
                self.value(function.__kwdefaults__, f"a default of {name}"),
                *([place_content(function.__code__)] if _asserts(loaded + free) else []),
            ]

        return self._once(function, visit)

    def _visitors(self) -> Iterator[tuple[Any, Callable[[Any, str], object]]]:
        yield enum.Enum, self._enum
        yield FunctionType, self._helper
        yield MethodType, self._method
        yield functools.partial, self._partial
        yield BuiltinFunctionType, lambda f, _: ["builtin", f.__module__, f.__qualname__]
        yield type, self._class
        yield (tuple, frozenset), self._sequence
        yield (list, dict, set), self._mutable
        yield object, self._instance

    def _once(self, value: object, visit: Callable[[], object]) -> object:
        """Visit a function or class once: they may refer to each other in a circle."""
        seen = self._seen.get(id(value))
        if seen is not None:
            return ["seen", seen[0]]
        self._seen[id(value)] = (len(self._seen), value)
        return visit()

    def _helper(self, function: FunctionType, name: str) -> object:
        module = str(function.__globals__.get("__name__"))
        if is_opaque(module) and "<locals>" not in function.__qualname__:
            return ["named", module, function.__qualname__]
        return self.function(function, name)

    def _method(self, method: MethodType, name: str) -> object:
        return ["method", self.value(method.__func__, name), self.value(method.__self__, name)]

    def _partial(self, value: functools.partial[Any], name: str) -> object:
        return ["partial", *(self.value(v, name) for v in (value.func, value.args, value.keywords))]

    def _sequence(self, items: tuple[object, ...] | frozenset[object], name: str) -> object:
        contents = [self.value(item, f"an item of {name}") for item in items]
        if isinstance(items, frozenset):
            contents.sort(key=json.dumps)
        return [self.value(type(items), name), contents]

    def _mutable(self, value: list[Any] | dict[Any, Any] | set[Any], name: str) -> object:
        return [self.value(type(value), name), self.value(_frozen(value), name)]

    def _class(self, value: type, name: str) -> object:
        """A class of the user counts by what it defines, any other by its name."""
        named = ["class", value.__module__, value.__qualname__]
        if is_opaque(value.__module__):
            return named
        return self._once(value, lambda: [*named, *self._definition(value, name)])

    def _definition(self, value: type, name: str) -> list[object]:
        bases = [self.value(base, name) for base in value.__bases__]
        members = [self._member(*item, name) for item in sorted(vars(value).items())]
        if isinstance(value, enum.EnumMeta):
            named = cast("Iterable[enum.Enum]", value)
            members += [[member.name, self.value(member.value, name)] for member in named]
        if dataclasses.is_dataclass(value):
            fields = dataclasses.fields(cast("Any", value))
            members += [
                [field.name, self.value(field.default_factory, name)]
                for field in fields
                if field.default_factory is not dataclasses.MISSING
            ]
        return [members, bases]

    def _member(self, key: str, member: object, name: str) -> object:
        """Return the content of a member of a class, as far as its author wrote it."""
        if isinstance(member, (staticmethod, classmethod)):
            member = cast("staticmethod[..., Any]", member).__func__
        if isinstance(member, property):
            parts = [f for f in (member.fget, member.fset) if f is not None]
            return [key, [self.value(part, name) for part in parts]]
        if isinstance(member, FunctionType):
            generated = key in _DATACLASS_METHODS and member.__code__.co_filename == "<string>"
            return [key] if generated else [key, self.value(member, name)]
        if key.startswith("_") or isinstance(member, _DESCRIPTORS):
            return [key]  # made by the interpreter, or private data that is reached by name only
        return [key, self.value(member, f"{name}.{key}")]

    def _enum(self, value: enum.Enum, name: str) -> object:
        return ["enum", self.value(type(value), name), value.name]

    def _instance(self, value: Any, name: str) -> object:
        kind = cast("type[object]", type(value))
        parameters = getattr(value, "__dataclass_params__", None)
        if parameters is not None and parameters.frozen:
            fields = [
                [field.name, self.value(getattr(value, field.name), f"{name}.{field.name}")]
                for field in dataclasses.fields(value)
            ]
            return ["dataclass", self.value(kind, name), fields]
        if isinstance(getattr(value, "__wrapped__", None), FunctionType):  # functools.lru_cache
            return ["wrapped", self.value(kind, name), self.value(value.__wrapped__, name)]
        numpy = _numpy_content(value)
        if numpy is not None:
            return numpy
        return self._refuse(
            f"{name} is of type {type(value).__qualname__}, which has no content to compare"
        )

    def _refuse(self, reason: str) -> object:
        """Note why there is no digest."""
        self.reason = self.reason or reason
        return ["refused"]

    def _globals(self, function: FunctionType) -> list[list[Any]]:
        free = function.__code__.co_freevars
        return [
            [list(chain), self._chain(function.__globals__, chain, _lookup_global)]
            for chain in loaded_names(function.__code__)
            if chain[0] not in free
        ]

    def _cells(self, function: FunctionType) -> list[list[Any]]:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        return [
            [list(chain), self._chain(cells, chain, _lookup_cell)]
            for chain in loaded_names(function.__code__)
            if chain[0] in cells
        ]

    def _chain(
        self,
        scope: Mapping[str, Any],
        chain: tuple[str, ...],
        lookup: Callable[[Any, str], object],
    ) -> object:
        """Return the value at the end of a chain ``name.attribute.attribute``.

        Attributes are followed through modules and classes; what an object holds counts as a whole.
        """
        value = lookup(scope, chain[0])
        for attribute in chain[1:]:
            if not isinstance(value, (ModuleType, type)):
                break
            value = getattr(value, attribute, _ABSENT)
        if value is _ABSENT:
            return ["absent"]
        if isinstance(value, ModuleType):
            return self._module(value, chain)
        return self.value(value, ".".join(chain))

    def _module(self, module: ModuleType, chain: tuple[str, ...]) -> object:
        if is_opaque(module.__name__):
            return ["module", module.__name__]
        return self._refuse(
            f"{'.'.join(chain)} is the module {module.__name__}, of which no attribute is named"
        )


def _asserts(names: list[list[Any]]) -> bool:
    """Tell whether ``tl.assert_`` is among the names a function loads: failures name its lines."""
    return any(content == ["named", "tilec.lang.debugging", "assert_"] for _, content in names)


def _frozen(value: list[Any] | dict[Any, Any] | set[Any]) -> tuple[Any, ...] | frozenset[Any]:
    if isinstance(value, dict):
        return tuple(value.items())
    return frozenset(value) if isinstance(value, set) else tuple(value)


def _lookup_global(scope: Mapping[str, object], name: str) -> object:
    return scope[name] if name in scope else getattr(builtins, name, _ABSENT)


def _lookup_cell(cells: Mapping[str, CellType], name: str) -> object:
    try:
        return cells[name].cell_contents
    except ValueError:
        return _ABSENT


def _numpy_content(value: Any) -> object:
    """Return the content of a NumPy scalar, dtype or function, else None."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.generic):
        return ["numpy", str(value.dtype), value.tobytes().hex()]
    if isinstance(value, numpy.dtype):
        return ["numpy", value.str, value.name]
    if isinstance(value, numpy.ufunc):
        return ["ufunc", value.__name__]
    return None


@functools.lru_cache(maxsize=1024)
def is_opaque(module_name: str) -> bool:
    """Tell whether the members of a module count by name.

    tilec's own build is part of every key, and the standard library and NumPy keep their word.
    The module's file decides: a user's file may bear the name of a standard module.
    """
    if module_name.partition(".")[0] in _OPAQUE:
        return not module_name.startswith(_KERNELS)
    module = sys.modules.get(module_name)
    file = getattr(module, "__file__", None)
    if file is None:
        origin = getattr(getattr(module, "__spec__", None), "origin", None)
        return origin in ("built-in", "frozen")
    path = os.path.abspath(file)
    packages = ("site-packages", "dist-packages")
    return path.startswith(_STANDARD_LIBRARY) and not any(part in path for part in packages)
