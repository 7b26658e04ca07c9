"""What a kernel captures, and where its source is: cases that broke other tile compilers."""

import enum
import gc
import types
from dataclasses import dataclass

import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import assert_exact

# -- globals are read at every launch (triton #7322, PR 3770) --------------------------------------

VALUE = 123


class Choice(enum.Enum):
    FIRST = 1
    SECOND = 2


@dataclass(frozen=True)
class Options:
    value: int


CHOICE, OPTIONS, TUPLE = Choice.FIRST, Options(5), (1, 2)
MODULE = types.ModuleType("settings_of_a_test")
MODULE.value = 7


@tl.kernel
def from_global(y):
    y.store(tl.full((1,), VALUE, tl.int32))


@tl.kernel
def from_enum(y):
    y.store(tl.full((1,), 10 if CHOICE is Choice.FIRST else 20, tl.int32))


@tl.kernel
def from_dataclass(y):
    y.store(tl.full((1,), OPTIONS.value, tl.int32))


@tl.kernel
def from_tuple(y):
    y.store(tl.full((1,), TUPLE[1], tl.int32))


@tl.kernel
def from_module(y):
    y.store(tl.full((1,), MODULE.value, tl.int32))


def launch(place, kernel):
    y = place.output(1, np.int32)
    kernel(tl.partition(y.array, (1,)))
    return int(y.read()[0])


@pytest.mark.parametrize(
    ("kernel", "name", "values"),
    [
        (from_global, "VALUE", [(123, 123), (1234, 1234), (123, 123)]),
        (from_enum, "CHOICE", [(Choice.FIRST, 10), (Choice.SECOND, 20), (Choice.FIRST, 10)]),
        (from_dataclass, "OPTIONS", [(Options(5), 5), (Options(6), 6), (Options(5), 5)]),
        (from_tuple, "TUPLE", [((1, 2), 2), ((1, 3), 3), ((1, 2), 2)]),
    ],
)
def test_changed_global_is_seen_by_the_next_launch(place, monkeypatch, kernel, name, values):
    for value, expected in values:
        monkeypatch.setitem(globals(), name, value)
        assert launch(place, kernel) == expected


def test_changed_module_attribute_is_seen_by_the_next_launch(place, monkeypatch):
    for value in (7, 8, 7):
        monkeypatch.setattr(MODULE, "value", value)
        assert launch(place, from_module) == value


# -- kernels of one name with different captures (warp #830, #1211) --------------------------------


def make_kernel(captured):
    @tl.kernel
    def kernel(y):
        y.store(tl.full((1,), captured[0], tl.int32) + captured[1])

    return kernel


def make_with(function):
    @tl.kernel
    def kernel(y):
        y.store(function(tl.full((1,), 10, tl.int32)))

    return kernel


@pytest.mark.parametrize("collect", [True, False])
def test_factories_of_one_name_keep_their_captures(place, collect):
    for values in ((100, 200), (300, 400), (100, 200)):
        kernel = make_kernel(values)
        assert launch(place, kernel) == sum(values)
        if collect:
            del kernel
            gc.collect()


def test_factories_of_functions_keep_their_functions(place):
    kernels = [make_with(lambda t, n=n: t + n) for n in (1, 2)]
    assert [launch(place, kernel) for kernel in [*kernels, *kernels]] == [11, 12, 11, 12]


# -- no source to be had (triton #5386, cupy PR 6329) ----------------------------------------------

STRAIGHT = """
import tilec as tl

@tl.kernel
def kernel(y, x):
    y.store(x.load_like(y) * {factor})
"""
LOOPING = """
import tilec as tl

@tl.kernel
def kernel(y, x):
    acc = tl.zeros((4,), tl.float32)
    for k in range(x.num_tiles(0, 4)):
        acc += x.load((k,), (4,))
    y.store(acc)
"""


def from_exec(source):
    scope = {"__name__": "made_by_exec"}
    exec(source, scope)
    return scope["kernel"]


def test_straight_line_kernel_without_source_runs(place):
    x = np.arange(4, dtype=np.float32)
    for factor in (2, 3):
        y = place.output(4, np.float32)
        from_exec(STRAIGHT.format(factor=factor))(tl.partition(y.array, (4,)), place.array(x))
        assert_exact(y.read(), x * factor)


def test_loop_without_source_is_refused_and_says_why(place):
    y = place.output(4, np.float32)
    with pytest.raises(tl.TraceError, match="source"):
        from_exec(LOOPING)(tl.partition(y.array, (4,)), place.array(np.ones(8, np.float32)))


def test_copied_function_is_a_kernel_of_its_own(place):
    def body(y):
        y.store(tl.full((1,), 3, tl.int32))

    copied = types.FunctionType(body.__code__, body.__globals__, "copied")
    assert launch(place, tl.kernel(copied)) == 3
