"""Arrays and numbers of libraries, as real ones show them, from the call to the driver."""

from __future__ import annotations

import ctypes
import struct
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from exchange_arrays import exchange_array_class

from tilec._runtime import accumulate, partition, unchecked
from tilec.diagnostics import LaunchError


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of that name: a class derived from a base that holds all, and current streams."""

    class Base:
        def __init__(self, shown: Any) -> None:
            self.device = SimpleNamespace(id=(shown.pointer >> 40) - 1)
            self.interface = shown.__cuda_array_interface__

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return self.interface

        def __dlpack__(self, **keywords: Any) -> Any:
            raise AssertionError("the capsule is the slower way in")

        def __dlpack_device__(self) -> tuple[int, int]:
            raise AssertionError("the capsule is the slower way in")

    Base.__module__, Base.__name__ = "cupy._core.core", "_ndarray_base"
    module = ModuleType("cupy")
    module.ndarray = type("ndarray", (Base,), {"__module__": "cupy"})
    module.streams = {0: 70, 1: 71}
    module.asked = []

    def get_current_stream(device: int) -> Any:
        module.asked.append(device)
        return SimpleNamespace(ptr=module.streams[device])

    module.cuda = SimpleNamespace(get_current_stream=get_current_stream)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.mark.parametrize("wrap", [lambda x: partition(x, (4,)), accumulate, unchecked])
@pytest.mark.parametrize("device", [0, 1])
def test_cupy_array_is_launched_on_its_device_and_stream(
    driver, memory, kernel_class, cupy, wrap, device
):
    kernel = kernel_class("y", "x")
    x = cupy.ndarray(memory.array((4,), device=device))
    y = cupy.ndarray(memory.array((4,), device=device))
    marked = wrap(y)
    kernel(marked, x, **({} if "artition" in repr(marked) else {"grid": 1}))
    assert driver.last.context == 0xC0 + device
    assert driver.last.stream == 70 + device
    cupy.streams[device] = 99
    kernel(partition(y, (4,)), x)
    assert driver.last.stream == 99


def test_library_is_asked_for_its_stream_once_a_launch(driver, memory, kernel_class, cupy):
    kernel = kernel_class("y", "x", "z")
    y, x, z = (cupy.ndarray(memory.array((4,))) for _ in range(3))
    kernel(partition(y, (4,)), x, z)
    assert cupy.asked == [0]
    kernel(partition(y, (4,)), x, z)
    assert cupy.asked == [0, 0]
    kernel(partition(y, (4,)), x, z, stream=5)
    assert (cupy.asked, driver.last.stream) == ([0, 0], 5)


def test_subclass_of_a_cupy_array_is_an_array(driver, memory, kernel_class, cupy):
    kind = type("Mine", (cupy.ndarray,), {"__module__": "mine"})
    kernel_class("y")(partition(kind(memory.array((4,))), (4,)))
    assert driver.last.stream == 70


class Bare:
    """An array of no library: only the interface, on the object itself."""

    def __init__(self, shown: Any) -> None:
        self.__cuda_array_interface__ = shown.__cuda_array_interface__


class Slotted:
    __slots__ = ("__cuda_array_interface__",)

    def __init__(self, shown: Any) -> None:
        self.__cuda_array_interface__ = shown.__cuda_array_interface__


class Proxy:
    """Stands for another object."""

    def __init__(self, shown: Any) -> None:
        self._shown = shown

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shown, name)


@pytest.mark.parametrize("wrap", [Bare, Slotted, Proxy], ids=lambda wrap: wrap.__name__)
def test_object_with_only_the_interface_is_an_array(driver, memory, kernel_class, wrap):
    kernel = kernel_class("y", "x")
    driver.library.fake_set_parameter_count(4)
    y, x = memory.array((12,)), memory.array((12,))
    kernel(partition(wrap(y), (4,)), wrap(x))
    assert driver.parameters(4) == [y.pointer, 12, x.pointer, 12]
    assert driver.last.grid[0] == 3


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: partition(x, (4,))])
def test_refused_object_does_not_speak_for_its_type(driver, memory, kernel_class, wrap):
    kind = type("Late", (), {})
    kernel = kernel_class("y", "x")
    late = kind()
    with pytest.raises(LaunchError, match="expected an array"):
        kernel(partition(memory.array((4,)), (4,)), wrap(late))
    late.__cuda_array_interface__ = memory.array((4,)).__cuda_array_interface__
    kernel(partition(memory.array((4,)), (4,)), wrap(late))
    assert driver.launches == 1


def test_exchange_table_in_c_is_read(driver, kernel_class):
    make = exchange_array_class(driver.library)
    y, x = make(2 << 40, (8, 6)), make((2 << 40) + 4096, (8, 6))
    driver.library.fake_set_parameter_count(8)
    kernel_class("y", "x")(partition(y, (4, 6)), x)
    assert driver.parameters(8) == [y.pointer, 8, 6, 6, x.pointer, 8, 6, 6]
    assert (driver.last.stream, driver.last.context) == (501, 0xC1)


def f32(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


INTEGERS = [
    kind(value)
    for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
    for value in (np.iinfo(kind).min, np.iinfo(kind).max, 1)
]


@pytest.mark.parametrize("value", INTEGERS, ids=lambda value: f"{value.dtype}({value})")
def test_numpy_integer_is_passed_at_full_value(driver, memory, kernel_class, value):
    kernel = kernel_class("y", "s")
    driver.library.fake_set_parameter_count(3)
    kernel(partition(memory.array((4,)), (4,)), value)
    kind = kernel.misses[0][0][1]
    narrow = -(2**31) <= int(value) < 2**31
    assert kind == ("scalar", "i32" if narrow else "u64" if int(value) >= 2**63 else "i64")
    assert driver.parameters(3)[2] == int(value) % (2**32 if narrow else 2**64)


@pytest.mark.parametrize(
    "value",
    [
        np.float16(0.1), np.float32(2), np.float32(np.inf), np.float64(2), np.float64(0.1),
        np.longdouble(0.25), ml_dtypes.bfloat16(3), ml_dtypes.float8_e4m3fn(0.5),
    ],
    ids=lambda value: f"{value.dtype}({value})",
)  # fmt: skip
def test_numpy_float_is_a_float(driver, memory, kernel_class, value):
    kernel = kernel_class("y", "s")
    driver.library.fake_set_parameter_count(3)
    kernel(partition(memory.array((4,)), (4,)), value)
    assert kernel.misses[0][0][1] == ("scalar", "f32")
    assert driver.parameters(3)[2] == f32(float(value))


@pytest.mark.parametrize("value", [True, False])
def test_numpy_bool_is_one_byte(driver, memory, kernel_class, value):
    kernel = kernel_class("y", "s")
    driver.library.fake_set_parameter_count(3)
    kernel(partition(memory.array((4,)), (4,)), np.bool_(value))
    assert kernel.misses[0][0][1] == ("scalar", "bool")
    assert driver.parameters(3)[2] == int(value)


def test_numpy_number_shares_the_variant_of_a_python_number(driver, memory, kernel_class):
    kernel = kernel_class("y", "s")
    y = partition(memory.array((4,)), (4,))
    for value in (3, np.int8(-1), np.uint64(7), np.int64(-(2**31))):
        kernel(y, value)
    assert len(kernel.misses) == 1
    for value in (0.5, np.float64(2), np.float32(2)):
        kernel(y, value)
    assert len(kernel.misses) == 2


def test_numpy_complex_number_is_refused(memory, kernel_class, driver):
    with pytest.raises(LaunchError) as error:
        kernel_class("y", "s")(partition(memory.array((4,)), (4,)), np.complex64(1))
    assert error.value.message == (
        "argument 's' has type numpy.complex64, expected an array, a number, None, an enum, a "
        "frozen dataclass or a tuple of these"
    )


# -- the parts of a launch, repeated for benchmarks ------------------------------------------------


def test_each_part_of_a_launch_can_be_repeated(driver, memory, kernel_class):
    kernel = kernel_class("y", "s")
    y = memory.array((16,))
    kernel(partition(y, (4,)), 2.5)
    for part in kernel._parts:
        before = driver.launches
        kernel._repeat(part, 7, partition(y, (4,)), s=2.5)
        assert driver.launches - before == (7 if part.startswith("cuLaunch") else 0), part
    assert driver.counter("extended_launches") == 7
    assert driver.last.grid[0] == 4
    assert len(kernel.misses) == 1


def test_part_of_a_launch_never_made_is_refused(driver, memory, kernel_class):
    y = partition(memory.array((4,)), (4,))
    with pytest.raises(ValueError, match="kernel was not launched on a GPU with such arguments"):
        kernel_class("y")._repeat("bind", 1, y)
    with pytest.raises(ValueError, match="a launch has no part 'tea'"):
        kernel_class("y")._repeat("tea", 1, y)
    with pytest.raises(TypeError, match="expects a name and a number"):
        kernel_class("y")._repeat("bind")


def test_launch_without_attributes_takes_the_plain_call(driver, memory, kernel_class):
    kernel_class("y")(partition(memory.array((4,)), (4,)))
    assert (driver.launches, driver.counter("extended_launches")) == (1, 0)
    kernel_class("y", cluster=[2, 1, 1])(partition(memory.array((4,)), (1,)))
    assert (driver.launches, driver.counter("extended_launches")) == (2, 1)


def test_context_that_is_current_already_is_left_alone(driver, memory, kernel_class):
    kernel = kernel_class("y")
    y = partition(memory.array((4,)), (4,))
    driver.library.fake_push_context(ctypes.c_uint64(0xC0))
    before = driver.counter("context_switches")
    for _ in range(3):
        kernel(y)
    assert driver.counter("context_switches") == before
    assert driver.last.context == 0xC0
