"""What a memory hit checks again about the world outside a kernel's arguments."""

from __future__ import annotations

import enum
import functools
import math
import types
from dataclasses import dataclass, field
from typing import Any

import pytest

from tilec.jit.guards import Guard, collect
from tilec.trace.signature import ConstantSpec, Signature


def holds(guard: Guard) -> bool:
    """What runtime/variant_table.cpp does."""
    missing = object()
    if guard[0] == "dict":
        _, scope, key, *expected = guard
        return scope.get(key, missing) is (expected[0] if expected else missing)
    if guard[0] == "cell":
        _, cell, *expected = guard
        try:
            content = cell.cell_contents
        except ValueError:
            return not expected
        return bool(expected) and content is expected[0]
    return bool(guard[1]())


def guards_of(function: types.FunctionType, *constants: Any) -> tuple[Guard, ...]:
    return collect(function, Signature(tuple(ConstantSpec(value) for value in constants)))


def define(source: str, **scope: Any) -> Any:
    """Run source in a module of its own; returns the module's dict."""
    namespace: dict[str, Any] = {"__name__": "somebodys_module", **scope}
    exec(source, namespace)
    return namespace


def all_hold(guards: tuple[Guard, ...]) -> bool:
    return all(holds(guard) for guard in guards)


class Color(enum.Enum):
    RED = 1


@dataclass(frozen=True)
class Frozen:
    value: int = 1
    items: list[int] = field(default_factory=list)


class Plain:
    shared = 1

    def __init__(self) -> None:
        self.value = 1


class Slotted:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 1


KERNEL = "def kernel(y): y.store(VALUE)"


def test_global_that_is_bound_again_fails_its_guard():
    scope = define(KERNEL, VALUE=1)
    guards = guards_of(scope["kernel"])
    assert all_hold(guards)
    scope["VALUE"] = 1234
    assert not all_hold(guards)
    scope["VALUE"] = 1
    assert all_hold(guards)
    del scope["VALUE"]
    assert not all_hold(guards)


def test_builtin_that_becomes_hidden_fails_its_guard():
    scope = define("def kernel(y):\n  for i in range(4): y.store(i)")
    guards = guards_of(scope["kernel"])
    assert all_hold(guards)
    scope["range"] = lambda n: [n]
    assert not all_hold(guards)


def test_global_of_a_helper_is_guarded():
    helper = define("def helper(): return VALUE", VALUE=1)
    scope = define("def kernel(y): y.store(helper())", helper=helper["helper"])
    guards = guards_of(scope["kernel"])
    helper["VALUE"] = 2
    assert not all_hold(guards)


def test_global_of_a_nested_function_and_a_comprehension_is_guarded():
    scope = define("def kernel(y):\n  f = lambda: [VALUE for _ in (1,)]\n  y.store(f())", VALUE=1)
    guards = guards_of(scope["kernel"])
    scope["VALUE"] = 2
    assert not all_hold(guards)


def test_closure_cell_is_guarded():
    value = 1

    def kernel(y):
        y.store(value)

    guards = guards_of(kernel)
    assert all_hold(guards)
    value = 2
    assert not all_hold(guards)


def test_cell_that_is_bound_later_is_guarded():
    def kernel(y):
        y.store(later)

    guards = guards_of(kernel)
    assert all_hold(guards)
    later = 1
    assert not all_hold(guards)


def test_attribute_of_a_module_is_guarded():
    module = types.ModuleType("settings_of_somebody")
    module.VALUE = 1
    scope = define("def kernel(y): y.store(module.VALUE)", module=module)
    guards = guards_of(scope["kernel"])
    assert all_hold(guards)
    module.VALUE = 2
    assert not all_hold(guards)


def test_attribute_of_a_submodule_is_guarded():
    inner, outer = types.ModuleType("a.b"), types.ModuleType("a")
    inner.VALUE, outer.b = 1, inner
    scope = define("def kernel(y): y.store(a.b.VALUE)", a=outer)
    guards = guards_of(scope["kernel"])
    inner.VALUE = 2
    assert not all_hold(guards)


@pytest.mark.parametrize(
    ("captured", "change"),
    [
        ([1, 2], lambda v: v.append(3)),
        ([1, 2], lambda v: v.__setitem__(0, 5000)),
        ([[1], 2], lambda v: v[0].append(3)),
        ({"a": 1}, lambda v: v.update(b=2)),
        ({"a": 1}, lambda v: v.update(a=5000)),
        ({1, 2}, lambda v: v.add(3)),
        (([1], 2), lambda v: v[0].append(3)),
        (Frozen(), lambda v: v.items.append(1)),
        (Plain(), lambda v: setattr(v, "value", 5000)),
        (Slotted(), lambda v: setattr(v, "value", 5000)),
        (bytearray(b"ab"), lambda v: v.append(3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_object_that_changes_in_place_fails_its_guard(captured, change):
    scope = define("def kernel(y): y.store(VALUE.value)", VALUE=captured)
    guards = guards_of(scope["kernel"])
    assert all_hold(guards)
    change(captured)
    assert not all_hold(guards)


def test_numpy_array_that_changes_in_place_fails_its_guard():
    import numpy as np

    array = np.arange(4)
    guards = guards_of(define(KERNEL, VALUE=array)["kernel"])
    assert all_hold(guards)
    array[2] = 7
    assert not all_hold(guards)


def test_class_attribute_is_guarded(monkeypatch):
    guards = guards_of(define("def kernel(y): y.store(C.shared)", C=Plain)["kernel"])
    assert all_hold(guards)
    monkeypatch.setattr(Plain, "shared", 5000)
    assert not all_hold(guards)


def test_method_and_partial_are_looked_into():
    helper = define("def helper(x): return VALUE", VALUE=1)
    bound = types.MethodType(helper["helper"], object())
    for captured in (bound, functools.partial(helper["helper"], 1)):
        helper["VALUE"] = 1
        guards = guards_of(define("def kernel(y): y.store(f())", f=captured)["kernel"])
        helper["VALUE"] = 2
        assert not all_hold(guards)


def test_function_among_the_constants_is_looked_into():
    keep = define("def keep(row): return row < VALUE", VALUE=1)
    guards = guards_of(define("def kernel(y, keep): y.store(keep(1))")["kernel"], keep["keep"])
    keep["VALUE"] = 2
    assert not all_hold(guards)


def test_default_of_a_helper_is_looked_into():
    items: list[int] = []
    helper = define("def helper(x=ITEMS): return x", ITEMS=items)
    scope = define("def kernel(y): y.store(helper())", helper=helper["helper"])
    guards = guards_of(scope["kernel"])
    items.append(1)
    assert not all_hold(guards)


def test_recursive_structures_end():
    ring: list[Any] = []
    ring.append(ring)
    scope = define("def kernel(y): kernel(RING)", RING=ring)
    assert all_hold(guards_of(scope["kernel"]))


def test_library_names_cost_one_guard_each():
    import tilec

    source = "def kernel(y):\n  y.store(tl.exp(math.pi))"
    scope = define(source, tl=tilec, math=math, Color=Color)
    guards = guards_of(scope["kernel"])
    assert [guard[:1] + guard[2:3] for guard in guards] == [("dict", "math"), ("dict", "tl")]
