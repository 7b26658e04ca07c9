"""What a compiled kernel took from outside its arguments, as guards that a launch checks again.

A kernel sees globals, closure cells and the attributes of what it finds there. Tracing bakes their
values in, so a later launch may reuse the result only while all of them are still the same
objects. The runtime checks the guards in C++ at each launch, before it uses a variant from memory.

The walk is static and errs on the safe side: it takes every name that the code could read. A guard
too many costs a needless retrace when that object is replaced; a guard too few would run stale
code.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import functools
import operator
import os
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from tilec.trace.signature import ConstantSpec, Signature, Spec, TupleSpec

Guard: TypeAlias = tuple[Any, ...]
"""What the runtime takes: ``("dict", d, key[, expected])``, ``("cell", c[, expected])`` or
``("predicate", callable)``; without ``expected`` there was nothing."""

_LIBRARIES = ("tilec", "numpy", "ml_dtypes", "torch", "cupy", "jax")
_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_ATOMS = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, enum.Enum, frozenset,
)  # fmt: skip


def collect(function: types.FunctionType, signature: Signature) -> tuple[Guard, ...]:
    """Return the guards of a kernel.

    Args:
        function: the kernel's Python function.
        signature: its arguments; functions among the constants are read as well.
    """
    walk = _Walk()
    walk.function(function)
    for spec in signature.specs:
        for value in _constants(spec):
            walk.value(value, walk.attributes)
    return tuple(walk.guards)


def hold(guards: Iterable[Guard]) -> bool:
    """Tell whether all guards hold, as the runtime does at a launch."""
    return all(_holds(*guard) for guard in guards)


def _holds(kind: str, container: Any, *rest: Any) -> bool:
    nothing = object()
    if kind == "predicate":
        return bool(container())
    if kind == "dict":
        name, *expected = rest
        return container.get(name, nothing) is (expected[0] if expected else nothing)
    try:
        return bool(rest) and container.cell_contents is rest[0]
    except ValueError:  # not bound yet
        return not rest


def _constants(spec: Spec) -> Iterator[object]:
    if isinstance(spec, TupleSpec):
        for item in spec.items:
            yield from _constants(item)
    elif isinstance(spec, ConstantSpec):
        yield spec.value


class _Walk:
    """Visits everything that a function can reach by name."""

    def __init__(self) -> None:
        self.guards: list[Guard] = []
        self.attributes: frozenset[str] = frozenset()
        self._seen: dict[int, object] = {}  # holds the objects: ids must not be reused

    def function(self, function: types.FunctionType) -> None:
        """Visit the globals, cells and defaults of a function."""
        if self._visited(function) or _is_opaque(function.__globals__.get("__name__")):
            return
        codes = tuple(_nested_codes(function.__code__))
        outer, self.attributes = (
            self.attributes,
            frozenset(name for code in codes for name in code.co_names),
        )
        for name in sorted({name for code in codes for name in _global_names(code)}):
            self._global(function.__globals__, name)
        for cell in function.__closure__ or ():
            self._cell(cell)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.value(default, self.attributes)
        self.attributes = outer or self.attributes

    def value(self, value: Any, attributes: frozenset[str]) -> None:
        """Visit an object whose attributes in ``attributes`` the code may read."""
        if isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, _ATOMS) or self._visited(value):
            return
        elif isinstance(value, types.ModuleType):
            if not _is_opaque(value.__name__):
                self._dictionary(vars(value), attributes)
        else:
            self._object(value, attributes)

    def _visited(self, value: object) -> bool:
        known = id(value) in self._seen
        self._seen[id(value)] = value
        return known

    def _global(self, scope: dict[str, Any], name: str) -> None:
        if name in scope:
            self.guards.append(("dict", scope, name, scope[name]))
            self.value(scope[name], self.attributes)
        else:  # a builtin, which a global of that name would hide
            self.guards.append(("dict", scope, name))
            self.value(vars(builtins).get(name), frozenset())

    def _cell(self, cell: types.CellType) -> None:
        try:
            content = cell.cell_contents
        except ValueError:  # not bound yet
            self.guards.append(("cell", cell))
            return
        self.guards.append(("cell", cell, content))
        self.value(content, self.attributes)

    def _dictionary(self, scope: dict[str, Any], names: Iterable[str]) -> None:
        for name in sorted(names):
            if name in scope:
                self.guards.append(("dict", scope, name, scope[name]))
                self.value(scope[name], self.attributes)

    def _object(self, value: Any, attributes: frozenset[str]) -> None:
        kind = cast("type[Any]", type(value))
        if _derives(kind, types.MethodType, functools.partial):
            self._callable(value)
        elif _derives(kind, tuple):
            self._items(value)
        elif _derives(kind, list, dict, set, bytearray):
            self._snapshot(value)
        elif _derives(kind, type):
            self._class(value, attributes)
        elif hasattr(value, "__array_interface__"):
            self._array(value)
        elif not _is_opaque(kind.__module__):
            self._instance(value, attributes)

    def _callable(self, value: Any) -> None:
        if isinstance(value, types.MethodType):
            self._items((value.__func__, value.__self__))
        else:
            self._items((value.func, *value.args, *value.keywords.values()))

    def _items(self, items: Iterable[Any]) -> None:
        for item in items:
            self.value(item, self.attributes)

    def _snapshot(self, value: Any) -> None:
        """Guard a container by its items, which are compared by identity."""
        before = _contents(value)
        self._predicate(
            lambda: (
                len(now := _contents(value)) == len(before) and all(map(operator.is_, now, before))
            )
        )
        self._items(before)

    def _class(self, value: type, attributes: frozenset[str]) -> None:
        if value.__module__ == "builtins" or issubclass(value, enum.Enum):
            return
        for base in value.__mro__[:-1]:
            if not _is_opaque(base.__module__):
                self._lookups(vars(base), attributes)

    def _lookups(self, scope: Mapping[str, Any], names: Iterable[str]) -> None:
        before = {name: scope[name] for name in names if name in scope}
        if before:
            self._predicate(lambda: all(scope.get(name) is before[name] for name in before))
        self._items(before.values())

    def _array(self, value: Any) -> None:
        before = value.tobytes()
        self._predicate(lambda: value.tobytes() == before)

    def _instance(self, value: Any, attributes: frozenset[str]) -> None:
        kind = cast("type[Any]", type(value))
        if dataclasses.is_dataclass(kind):
            self._items(getattr(value, field.name, None) for field in dataclasses.fields(kind))
        self._dictionary(getattr(value, "__dict__", {}), attributes)
        for base in kind.__mro__:
            slots = getattr(base, "__slots__", ())
            names = [slots] if isinstance(slots, str) else list(slots)
            self._slots(value, attributes.intersection(names))
        self._class(kind, attributes)

    def _slots(self, value: Any, names: Iterable[str]) -> None:
        missing = object()
        before = {name: getattr(value, name, missing) for name in names}
        if before:
            self._predicate(
                lambda: all(getattr(value, name, missing) is before[name] for name in before)
            )
            self._items(before.values())

    def _predicate(self, holds: Callable[[], bool]) -> None:
        self.guards.append(("predicate", holds))


def _derives(kind: type[Any], *bases: type[Any]) -> bool:
    return issubclass(kind, bases)


def _contents(value: Any) -> list[Any]:
    if hasattr(value, "items"):
        return [part for pair in value.items() for part in pair]
    return list(value)


def _nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested_codes(constant)


def _global_names(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval


@functools.lru_cache(maxsize=1024)
def _is_opaque(module_name: str | None) -> bool:
    """Whether a module keeps its word, so that nobody looks into what it defines.

    A user's file may bear the name of a standard module: the file decides.
    """
    name = module_name or ""
    if name.partition(".")[0] in _LIBRARIES:
        return True
    if name.partition(".")[0] not in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is None or os.path.abspath(file).startswith(_STANDARD_LIBRARY)
