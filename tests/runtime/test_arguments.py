"""Binding: what a launch accepts, and the exact words for what it does not."""

from __future__ import annotations

import enum
from collections import namedtuple
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from tilec._runtime import accumulate, partition, unchecked
from tilec.diagnostics import LaunchError


class Mode(enum.IntEnum):
    FAST = 1


@dataclass(frozen=True)
class Config:
    depth: int = 2


def refusal(call, *args, **kwargs) -> tuple[str, str | None]:
    with pytest.raises(LaunchError) as error:
        call(*args, **kwargs)
    return error.value.message, error.value.hint


@pytest.fixture
def y(driver, memory):
    return partition(memory.array((4,)), (4,))


def test_arguments_bind_by_position_keyword_and_default(driver, memory, kernel_class, y):
    kernel = kernel_class("y", ("x", False, False), ("s", False, False, 3), ("k", True, True, 8))
    x = memory.array((4,))
    for call in (
        lambda: kernel(y, x),
        lambda: kernel(y, x=x),
        lambda: kernel(x=x, y=y, s=3),
        lambda: kernel(y, x, 3, k=8),
    ):
        call()
    assert len(kernel.misses) == 1
    kernel(y, x, k=9)
    assert kernel.misses[1][0][2:] == (("scalar", "i32"), ("constant", 9))


def test_too_many_arguments_are_refused(kernel_class):
    kernel = kernel_class("y", "x", ("k", True, True))
    assert refusal(kernel, 1, 2, 3) == (
        "kernel takes 2 positional arguments (y, x), found 3",
        None,
    )


def test_missing_argument_is_refused(kernel_class, y):
    assert refusal(kernel_class("y", "x"), y)[0] == "kernel misses its argument 'x'"


def test_unknown_keyword_is_refused(kernel_class, y):
    assert refusal(kernel_class("y", ("tk", True, True, 1)), y, kt=3) == (
        "kernel has no parameter 'kt'",
        "its parameters are y, tk; a launch also takes stream= and grid=",
    )


def test_argument_given_twice_is_refused(kernel_class, y):
    assert refusal(kernel_class("y", "x"), y, y=y)[0] == "kernel got two values for 'y'"


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        ("text", "str"),
        (Fraction(1, 2), "Fraction"),
        (1j, "complex"),
        ({}, "dict"),
        (len, "builtin"),
    ],
)
def test_value_of_another_type_is_refused(kernel_class, y, value, type_name):
    message, hint = refusal(kernel_class("y", "x"), y, value)
    assert message.startswith(f"argument 'x' has type {type_name}")
    assert message.endswith(
        "expected an array, a number, None, an enum, a frozen dataclass or a tuple of these"
    )
    assert hint == "annotate the parameter with tl.Constant to pass a value for compile time"


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_integer_beyond_64_bits_is_refused(kernel_class, y, value):
    message, _ = refusal(kernel_class("y", "s"), y, value)
    assert message == f"argument 's' is {value}, expected an integer from -2**63 to 2**64 - 1"


def test_float_beyond_f32_is_refused(driver, kernel_class, y):
    message, _ = refusal(kernel_class("y", "s"), y, 1e300)
    assert message == "argument 's' is 1e+300, which is out of the range of f32"
    kernel = kernel_class("y", "s")
    for value in (float("inf"), float("nan"), 3e38, 1e-300):
        kernel(y, value)
    assert driver.launches == 4


def test_constants_of_every_kind_are_compile_time(driver, kernel_class, y):
    kernel = kernel_class("y", "x")
    values = [None, Mode.FAST, Config(), Config(3), np.float32]
    for value in values[:4]:
        kernel(y, value)
        kernel(y, value)
    assert [specs[1] for specs, _ in kernel.misses] == [("constant", v) for v in values[:4]]


def test_equal_constants_of_different_types_are_different(driver, kernel_class, y):
    kernel = kernel_class("y", ("k", True, True))
    values = [1, True, 1.0, Mode.FAST, 0.0, -0.0, "1", (1,), (1.0,), (True,), float("nan"), b"1"]
    for _ in range(2):
        for value in values:
            kernel(y, k=value)
    assert len(kernel.misses) == len(values)


def test_equal_constants_share_a_variant(driver, kernel_class, y):
    kernel = kernel_class("y", ("k", True, True))
    for make in (lambda: 10**20, lambda: (1, "a" * 3), lambda: Config(7), lambda: 2.5 * len("ab")):
        kernel(y, k=make())
        kernel(y, k=make())
    assert len(kernel.misses) == 4


def test_functions_are_constants_by_identity(driver, kernel_class, y):
    kernel = kernel_class("y", ("keep", True, False))

    def make():
        return lambda row: row

    first, second = make(), make()
    for keep in (first, second, first, second):
        kernel(y, keep)
    assert [specs[1][1] for specs, _ in kernel.misses] == [first, second]


@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, np.zeros(2), object()])
def test_mutable_constant_is_refused(kernel_class, y, value):
    message, _ = refusal(kernel_class("y", ("k", True, True)), y, k=value)
    assert message == (
        "argument 'k' cannot be bound: a compile-time value must be a number, a string, an enum, a "
        f"function, or a tuple or frozen dataclass of these, found a {type(value).__name__}"
    )


def test_nested_tuples_are_flattened_depth_first(driver, memory, kernel_class, y):
    kernel = kernel_class("y", "pair", "last")
    a, b = memory.array((3,)), memory.array((5, 2))
    driver.library.fake_set_parameter_count(10)
    kernel(y, (a, [1, (b, None)]), 7)
    assert [spec[0] for spec in kernel.misses[0][0]] == ["view", "tuple", "scalar"]
    inner = kernel.misses[0][0][1][1]
    assert [spec[0] for spec in inner] == ["view", "tuple"]
    assert inner[1][1][1][1][1] == ("constant", None)
    assert driver.parameters(10)[2:] == [a.pointer, 3, 1, b.pointer, 5, 2, 2, 7]


def test_tuples_of_another_structure_make_another_variant(driver, memory, kernel_class, y):
    kernel = kernel_class("y", "x")
    for value in ((1, 2), (1, 2, 3), ((1, 2),), ((1,), 2), (1, (2,)), (), ((),)):
        kernel(y, value)
    assert len(kernel.misses) == 7


def test_problem_inside_a_tuple_names_the_item(memory, kernel_class, y):
    kernel = kernel_class("y", "none", "pair")
    message, _ = refusal(kernel, y, None, (memory.array((3,)), (1, "text")))
    assert message.startswith("argument 'pair[1][1]' has type str")


def test_named_tuple_is_refused(kernel_class, y):
    message, _ = refusal(kernel_class("y", "p"), y, namedtuple("Point", "x y")(1, 2))
    assert message.startswith("argument 'p' has type")


def test_marker_around_something_else_is_refused(kernel_class):
    message, _ = refusal(kernel_class("y"), partition(3, (4,)))
    assert message == "argument 'y' wraps a int, expected an array"


def test_partition_of_another_rank_is_refused(driver, memory, kernel_class):
    message, _ = refusal(kernel_class("y"), partition(memory.array((4, 4)), (4,)))
    assert message == (
        "argument 'y' is a partition of an array with 2 dimensions into tiles with 1, expected as "
        "many"
    )


def test_array_with_too_many_dimensions_is_refused(memory, kernel_class, y):
    message, _ = refusal(kernel_class("y", "x"), y, memory.array((1,) * 9))
    assert message == "argument 'x' has 9 dimensions, expected at most 8"


@pytest.mark.parametrize(
    ("typestr", "message"),
    [
        ("<c8", "argument 'x' has an element type that kernels do not know: <c8 (<c8)"),
        (">f4", "argument 'x' has an element type that kernels do not know: >f4 (>f4)"),
        ("<U4", "argument 'x' has an element type that kernels do not know: <U4 (<U4)"),
    ],
)
def test_unknown_dtype_is_refused(memory, kernel_class, y, typestr, message):
    assert refusal(kernel_class("y", "x"), y, memory.array((4,), typestr))[0] == message


def test_stride_that_is_no_multiple_of_the_element_is_refused(memory, kernel_class, y):
    message, hint = refusal(kernel_class("y", "x"), y, memory.array((4,), strides=(6,)))
    assert message == (
        "argument 'x' has a stride of 6 bytes, expected a multiple of its 4-byte elements"
    )
    assert hint == "copy it to a contiguous array"


def test_unknown_pointer_is_refused(driver, memory, kernel_class, y):
    x = memory.array((4,))
    x.pointer = 4096
    message, _ = refusal(kernel_class("y", "x"), y, x)
    assert message == (
        "argument 'x' has a __cuda_array_interface__ whose pointer the driver does not know"
    )


def test_error_inside_a_library_names_the_argument(kernel_class, y):
    class Broken:
        @property
        def __cuda_array_interface__(self):
            raise ValueError("deleted buffer")

    with pytest.raises(LaunchError) as error:
        kernel_class("y", "x")(y, Broken())
    assert error.value.message == "argument 'x' cannot be bound: deleted buffer"
    assert isinstance(error.value.__cause__, ValueError)


def test_interrupt_inside_a_library_is_passed_on(kernel_class, y):
    class Interrupted:
        @property
        def __cuda_array_interface__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernel_class("y", "x")(y, Interrupted())


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (-1, "stream= is -1, expected a handle between 0 and 2**64 - 1"),
        (
            "main",
            "stream= is 'main', expected an integer handle, a torch or CuPy stream, or an object "
            "with __cuda_stream__",
        ),
        (
            1.5,
            "stream= is 1.5, expected an integer handle, a torch or CuPy stream, or an object "
            "with __cuda_stream__",
        ),
    ],
)
def test_bad_stream_is_refused(kernel_class, y, stream, message):
    assert refusal(kernel_class("y"), y, stream=stream)[0] == message


def test_access_is_part_of_the_specification(driver, memory, kernel_class):
    kernel = kernel_class("a", "b", "c", "d")
    a, b, c, d = (memory.array((4,)) for _ in range(4))
    kernel(partition(a, (2,)), accumulate(b), unchecked(c), d)
    specs, _ = kernel.misses[0]
    assert [spec[3] for spec in specs] == ["exclusive", "atomic", "unchecked", "read"]
    assert [spec[-1] for spec in specs] == [(2,), None, None, None]
