"""Arrays of libraries that are not installed: DLPack in all its forms, and the two interfaces."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilec._runtime import partition
from tilec.diagnostics import LaunchError

CUDA, CPU, ROCM = 2, 1, 10
FLOAT, BFLOAT, COMPLEX = 2, 4, 5

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


TensorFromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
CurrentStream = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)


class Exchange(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("unused", ctypes.c_void_p * 3),
        ("tensor_from_object", TensorFromObject),
        ("current_stream", CurrentStream),
    ]


class Described:
    """An array of a library that offers some form of DLPack."""

    def __init__(self, pointer: int, shape: tuple[int, ...], **more: Any) -> None:
        self.pointer, self.shape = pointer, shape
        self.strides: tuple[int, ...] | None = more.get("strides")
        self.device = more.get("device", (CUDA, 0))
        self.dtype = more.get("dtype", (FLOAT, 32, 1))
        self.offset = more.get("offset", 0)
        self.flags = more.get("flags", 0)
        self.major = more.get("major", 1)
        self.asked: list[dict[str, Any]] = []
        self.alive: list[Any] = []

    def fill(self, tensor: Tensor) -> None:
        rank = len(self.shape)
        shape = (ctypes.c_int64 * rank)(*self.shape)
        self.alive.append(shape)
        tensor.data, tensor.byte_offset = self.pointer, self.offset
        tensor.device_type, tensor.device_id = self.device
        tensor.rank, (tensor.code, tensor.bits, tensor.lanes) = rank, self.dtype
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        tensor.strides = None
        if self.strides is not None:
            strides = (ctypes.c_int64 * rank)(*self.strides)
            self.alive.append(strides)
            tensor.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class VersionedArray(Described):
    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        self.asked.append({"stream": stream, "max_version": max_version})
        managed = Versioned(major=self.major, minor=0, flags=self.flags)
        self.fill(managed.tensor)
        self.alive.append(managed)
        return new_capsule(ctypes.addressof(managed), b"dltensor_versioned", None)


class OldArray(Described):
    def __dlpack__(self, *, stream: Any = None) -> Any:
        self.asked.append({"stream": stream})
        managed = Managed()
        self.fill(managed.tensor)
        self.alive.append(managed)
        return new_capsule(ctypes.addressof(managed), b"dltensor", None)


@TensorFromObject
def tensor_from_object(array: Any, out: Any) -> int:
    array.fill(out.contents)
    return 0


@CurrentStream
def current_stream(kind: int, device: int, out: Any) -> int:
    out[0] = 500 + device
    return 0


def exchange_capsule(major: int = 1, previous: Any = None) -> Any:
    table = Exchange(major=major, minor=0)
    table.tensor_from_object, table.current_stream = tensor_from_object, current_stream
    if previous is not None:
        table.previous = ctypes.addressof(previous)
    exchange_capsule.alive.append(table)
    return table


exchange_capsule.alive = []


def with_exchange(table: Exchange) -> type[Described]:
    capsule = new_capsule(ctypes.addressof(table), b"dlpack_exchange_api", None)
    return type("ExchangeArray", (VersionedArray,), {"__dlpack_c_exchange_api__": capsule})


ExchangeArray = with_exchange(exchange_capsule())

FORMS: list[Callable[..., Described]] = [VersionedArray, OldArray, ExchangeArray]


@pytest.fixture
def y(driver, memory):
    return partition(memory.array((4,)), (4,))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_dlpack_array_reaches_the_kernel(driver, kernel_class, form):
    kernel = kernel_class("y", "x")
    driver.library.fake_set_parameter_count(7)
    y = form(1 << 40, (16, 8), strides=(8, 1))
    x = form((1 << 40) + 4096, (2, 3), strides=(100, 7), offset=64)
    kernel(partition(y, (4, 8)), x)
    assert driver.parameters(7)[:3] == [1 << 40, 16, 8]
    assert driver.parameters(8)[4:7] == [(1 << 40) + 4096 + 64, 2, 3]
    assert driver.last.grid[0] == 4


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_dlpack_array_without_strides_is_contiguous(driver, kernel_class, form):
    specs, _ = kernel_class("x")._specialize(form(1 << 40, (4, 6)))
    assert specs[0][4] == (False, True)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_dlpack_dtypes_are_told_by_code_and_bits(driver, kernel_class, form):
    kernel = kernel_class("x")
    for dtype, name in (((4, 16, 1), "bf16"), ((0, 64, 1), "i64"), ((6, 8, 1), "bool")):
        assert kernel._specialize(form(1 << 40, (4,), dtype=dtype))[0][0][1] == name


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"dtype": (COMPLEX, 64, 1)},
            "argument 'x' has an element type that kernels do not know: complex64",
        ),
        (
            {"dtype": (FLOAT, 32, 4)},
            "argument 'x' has an element type that kernels do not know: DLPack code 2, 32 bits, 4 "
            "lanes",
        ),
        (
            {"device": (ROCM, 0)},
            "argument 'x' is on a device that tilec does not drive (DLPack device type 10), "
            "expected a CUDA device or host memory",
        ),
    ],
)
def test_dlpack_array_of_another_world_is_refused(kernel_class, y, form, change, message):
    with pytest.raises(LaunchError) as error:
        kernel_class("y", "x")(y, form(1 << 40, (4,), **change))
    assert error.value.message == message


def test_dlpack_read_only_flag_is_heeded(kernel_class, driver):
    y = partition(VersionedArray(1 << 40, (4,), flags=1), (4,))
    with pytest.raises(LaunchError) as error:
        kernel_class("y")(y)
    assert error.value.message == "argument 'y' is a read-only array, expected a writable one"


def test_dlpack_of_another_major_version_is_refused(kernel_class, y):
    with pytest.raises(LaunchError) as error:
        kernel_class("y", "x")(y, VersionedArray(1 << 40, (4,), major=2))
    assert error.value.message == "argument 'x' speaks DLPack 2, expected version 1"


def test_dlpack_producer_is_asked_to_order_before_the_launch(driver, kernel_class):
    kernel = kernel_class("y")
    y = VersionedArray(1 << 40, (4,), strides=(1,))
    kernel(partition(y, (4,)))
    assert driver.last.stream == 1
    kernel(partition(y, (4,)), stream=77)
    assert driver.last.stream == 77
    kernel(partition(y, (4,)), stream=0)
    assert driver.last.stream == 0
    assert [asked["stream"] for asked in y.asked] == [1, 77, 1]  # 0 is ambiguous in the protocol
    assert y.asked[0]["max_version"] == (1, 0)


def test_dlpack_producer_follows_the_stream_of_earlier_arguments(driver, memory, kernel_class):
    kernel = kernel_class("y", "x")
    x = VersionedArray(1 << 40, (4,), strides=(1,))
    kernel(partition(memory.array((4,), offset=1 << 20, stream=42), (4,)), x)
    assert (driver.last.stream, x.asked[-1]["stream"]) == (42, 42)
    y = ExchangeArray((1 << 40) + 4096, (4,), strides=(1,))
    kernel(partition(y, (4,)), x)
    assert (driver.last.stream, x.asked[-1]["stream"]) == (500, 500)


def test_interface_of_an_object_without_class_attribute_is_bound(driver, kernel_class):
    class Bare:
        pass

    bare = Bare()
    bare.__cuda_array_interface__ = {
        "shape": (4,),
        "typestr": "<f4",
        "data": (1 << 40, False),
        "version": 3,
    }
    kernel_class("y")(partition(bare, (4,)))
    assert driver.launches == 1


def test_dlpack_on_the_host_is_asked_without_stream(kernel_class):
    memory = np.zeros(4, np.float32)
    x = VersionedArray(memory.ctypes.data, (4,), device=(CPU, 0))
    kernel = kernel_class("x")
    kernel(partition(x, (4,)))
    assert x.asked[0]["stream"] is None
    (argument,), grid = kernel.host_calls[0]
    assert (argument.dtype, argument.shape, grid) == (np.float32, (4,), None)
    argument[:] = 7
    assert memory.tolist() == [7] * 4


def test_exchange_table_gives_the_stream_without_a_capsule(driver, kernel_class):
    y = ExchangeArray(2 << 40, (4,), strides=(1,), device=(CUDA, 1))
    kernel_class("y")(partition(y, (4,)))
    assert driver.last.stream == 501
    assert driver.last.context == 0xC1
    assert y.asked == []


def test_exchange_table_of_an_unknown_version_is_passed_over(driver, kernel_class):
    array_class = with_exchange(exchange_capsule(major=9))
    y = array_class(1 << 40, (4,), strides=(1,))
    kernel_class("y")(partition(y, (4,)))
    assert len(y.asked) == 1


def test_exchange_table_of_an_older_version_in_the_chain_is_used(driver, kernel_class):
    array_class = with_exchange(exchange_capsule(major=9, previous=exchange_capsule()))
    y = array_class(1 << 40, (4,), strides=(1,))
    kernel_class("y")(partition(y, (4,)))
    assert driver.last.stream == 500
    assert y.asked == []


@pytest.mark.parametrize(
    ("interface", "message"),
    [
        (None, "argument 'x' has an array interface that is not a dict"),
        ({}, "argument 'x' has an array interface without 'shape'"),
        ({"shape": (4,), "data": 5}, "argument 'x' has a malformed array interface"),
        (
            {"shape": (4,), "data": (1 << 40, False), "strides": (4, 4)},
            "argument 'x' has a malformed array interface",
        ),
        (
            {"shape": (4,), "data": (1 << 40, False), "mask": object()},
            "argument 'x' is a masked array, expected a plain one",
        ),
        (
            {"shape": (4,), "data": (1 << 40, False)},
            "argument 'x' has an array interface without 'typestr'",
        ),
    ],
)
def test_malformed_interface_is_refused(kernel_class, y, interface, message):
    class Odd:
        __cuda_array_interface__ = interface

    with pytest.raises(LaunchError) as error:
        kernel_class("y", "x")(y, Odd())
    assert error.value.message == message


def test_numpy_arrays_run_on_the_host_with_the_same_checks(kernel_class):
    kernel = kernel_class("y", "x", "s")
    buffer = np.zeros((8, 8), np.float32)
    kernel(partition(buffer[:, :4], (4, 4)), buffer[:, 4:], 3)
    (arguments, grid), device = kernel.host_calls[0], kernel.misses[0][1]
    assert (grid, device) == (None, None)
    assert arguments[0].base is buffer
    assert arguments[2] == 3
    with pytest.raises(LaunchError, match="'y' is written, but shares memory"):
        kernel(partition(buffer[:, :4], (4, 4)), buffer[:, 3:], 3)
    buffer.flags.writeable = False
    with pytest.raises(LaunchError, match="'y' is a read-only array"):
        kernel(partition(buffer[:, :4], (4, 4)), buffer[:, 4:], 3)


def test_numpy_dtypes_of_ml_dtypes_are_known(kernel_class):
    import ml_dtypes

    kernel = kernel_class("x")
    for dtype, name in (
        (ml_dtypes.bfloat16, "bf16"),
        (ml_dtypes.float8_e4m3fn, "e4m3"),
        (ml_dtypes.float8_e5m2, "e5m2"),
    ):
        assert kernel._specialize(np.zeros(4, dtype))[0][0][1] == name


def test_structured_numpy_dtype_is_refused(kernel_class):
    with pytest.raises(LaunchError) as error:
        kernel_class("x")(np.zeros(4, [("a", "f4")]), grid=1)
    assert error.value.message == (
        "argument 'x' has an element type that kernels do not know: void32 (|V4)"
    )


def test_host_launch_with_a_grid_passes_it_on(kernel_class):
    from tilec._runtime import unchecked

    kernel = kernel_class("x")
    kernel(unchecked(np.zeros(4)), grid=(2, 3))
    assert kernel.host_calls[0][1] == (2, 3, 1)


def test_torch_tensor_on_the_host_runs_there(kernel_class):
    torch = pytest.importorskip("torch")
    kernel = kernel_class("y", "x")
    y = torch.zeros(4, 8, dtype=torch.bfloat16)
    x = torch.arange(8, dtype=torch.int64).flip(0)[None, :].expand(4, 8)
    kernel(partition(y, (1, 8)), x)
    first, second = kernel.host_calls[0][0]
    assert (str(first.dtype), first.shape) == ("bfloat16", (4, 8))
    assert second.tolist() == x.tolist()
    first[1, 2] = 3
    assert y[1, 2] == 3
    assert kernel.misses[0][0][1][1:4] == ("i64", 2, "read")


def test_torch_parameter_and_requires_grad_are_accepted(kernel_class):
    torch = pytest.importorskip("torch")
    kernel = kernel_class("y", "x")
    kernel(partition(torch.zeros(4), (4,)), torch.nn.Parameter(torch.ones(4)))
    assert kernel.host_calls[0][0][1].tolist() == [1] * 4
