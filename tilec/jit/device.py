"""What timing on a GPU needs of the CUDA driver: a stream, events, memory.

Launches are the runtime's (C++); this is off every hot path. The driver is loaded at the first use.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Generator, Sequence
from ctypes import byref, c_float, c_int, c_size_t, c_uint64, c_void_p
from typing import Any

from tilec.diagnostics import DriverError

_LIBRARY = "libcuda.so.1"
_L2_BYTES = 38
"""CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE"""
_NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING"""
_DEFAULT_EVENT = 0


class Memory:
    """Memory of a GPU, which array libraries and the runtime see as an array of unsigned integers.

    Units: the memory holds ``shape`` items of ``item_bytes`` bytes each.
    """

    def __init__(self, pointer: int, shape: tuple[int, ...], item_bytes: int) -> None:
        self.pointer = pointer
        self.shape = shape
        self.__cuda_array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": shape,
            "typestr": f"<u{item_bytes}",
            "data": (pointer, False),
            "strides": None,
            "stream": None,
        }


class Device:
    """The primary context of one GPU, current inside ``with device.current():``.

    Raises:
        DriverError: there is no driver, or it refused a call.
    """

    def __init__(self, ordinal: int) -> None:
        self._handle = c_int()
        _call("cuInit", 0)
        _call("cuDeviceGet", byref(self._handle), ordinal)

    @contextlib.contextmanager
    def current(self) -> Generator[None]:
        """Make the context the thread's current one."""
        context, popped = c_void_p(), c_void_p()
        _call("cuDevicePrimaryCtxRetain", byref(context), self._handle)
        try:
            _call("cuCtxPushCurrent_v2", context)
            try:
                yield
            finally:
                _call("cuCtxPopCurrent_v2", byref(popped))
        finally:
            _call("cuDevicePrimaryCtxRelease_v2", self._handle)

    def l2_bytes(self) -> int:
        """Return the size of the L2 cache."""
        value = c_int()
        _call("cuDeviceGetAttribute", byref(value), _L2_BYTES, self._handle)
        return value.value

    def synchronize(self) -> None:
        """Wait for everything that was asked of the GPU."""
        _call("cuCtxSynchronize")

    @contextlib.contextmanager
    def stream(self) -> Generator[int]:
        """Make a stream that waits for no other; the value is its handle."""
        handle = c_void_p()
        _call("cuStreamCreate", byref(handle), _NON_BLOCKING)
        try:
            yield int(handle.value or 0)
        finally:
            _call("cuStreamDestroy_v2", handle)

    @contextlib.contextmanager
    def memory(self, shape: tuple[int, ...], item_bytes: int = 1) -> Generator[Memory]:
        """Allocate memory, not initialized."""
        size = item_bytes
        for extent in shape:
            size *= extent
        pointer = c_uint64()
        _call("cuMemAlloc_v2", byref(pointer), c_size_t(max(size, 1)))
        try:
            yield Memory(pointer.value, shape, item_bytes)
        finally:
            _call("cuMemFree_v2", pointer)

    @contextlib.contextmanager
    def events(self, count: int) -> Generator[list[c_void_p]]:
        """Make events that take the time."""
        made: list[c_void_p] = []
        try:
            for _ in range(count):
                event = c_void_p()
                _call("cuEventCreate", byref(event), _DEFAULT_EVENT)
                made.append(event)
            yield made
        finally:
            for event in made:
                _call("cuEventDestroy_v2", event)

    def record(self, event: c_void_p, stream: int) -> None:
        """Have the event take the time when a stream gets to it."""
        _call("cuEventRecord", event, c_void_p(stream))

    def elapsed_us(self, starts: Sequence[c_void_p], ends: Sequence[c_void_p]) -> list[float]:
        """Wait for the last of the events, and return the microseconds of each pair."""
        found: list[float] = []
        for start, end in zip(starts, ends, strict=True):
            passed_ms = c_float()
            _call("cuEventSynchronize", end)
            _call("cuEventElapsedTime", byref(passed_ms), start, end)
            found.append(1e3 * passed_ms.value)
        return found


@functools.cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise DriverError(f"there is no CUDA driver: {error}") from None


def _call(name: str, *arguments: Any) -> None:
    status = int(getattr(_driver(), name)(*arguments))
    if status != 0:
        text = ctypes.c_char_p()
        _driver().cuGetErrorName(status, byref(text))
        reason = text.value.decode() if text.value else str(status)
        raise DriverError(f"{name} failed: {reason}")
