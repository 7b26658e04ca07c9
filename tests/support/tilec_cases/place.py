"""Where a test's arrays live, and outputs whose surroundings are watched."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

POISON = 0xFF  # NaN in every float type, -1 in every integer type
MARGIN_BYTES = 512


@dataclass(frozen=True)
class Layout:
    """An array inside a buffer of bytes."""

    shape: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    dtype: np.dtype[Any]
    offset_bytes: int
    buffer_bytes: int

    def view(self, buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        first = buffer[self.offset_bytes : self.offset_bytes + self.dtype.itemsize]
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        return as_strided(first.view(self.dtype), self.shape, self.strides_bytes)


class Output:
    """A poisoned output; reading it checks that nothing around it was written."""

    def __init__(self, place: Place, layout: Layout) -> None:
        self._place = place
        self._layout = layout
        buffer = np.full(layout.buffer_bytes, POISON, np.uint8)
        self._memory, self.array = place.place(buffer, layout)

    def read(self) -> np.ndarray[Any, Any]:
        buffer = self._place.bytes_of(self._memory)
        values = self._layout.view(buffer).copy()
        bits = np.dtype(f"u{self._layout.dtype.itemsize}")
        replace(self._layout, dtype=bits).view(buffer)[...] = np.iinfo(bits).max
        touched = np.flatnonzero(buffer != POISON)
        assert touched.size == 0, (
            f"bytes outside the output were written, the first at {touched[0]}"
        )
        return values


class Place:
    """What a test needs of a device."""

    name = "cpu"

    def array(self, values: np.ndarray[Any, Any]) -> Any:
        """Return the same values with the same strides, on the device."""
        return values

    def output(self, shape: int | Sequence[int], dtype: Any, *, gap_elems: int = 0) -> Output:
        """Return a poisoned output; ``gap_elems`` unused elements lie between its rows."""
        extents = (shape,) if isinstance(shape, int) else tuple(shape)
        kind = np.dtype(dtype)
        strides, step = [], kind.itemsize
        for extent in reversed(extents):
            strides.append(step)
            step = step * extent + (gap_elems * kind.itemsize if len(strides) == 1 else 0)
        layout = Layout(
            extents, tuple(reversed(strides)), kind, MARGIN_BYTES, step + 2 * MARGIN_BYTES
        )
        return Output(self, layout)

    def place(self, buffer: np.ndarray[Any, Any], layout: Layout) -> tuple[Any, Any]:
        """Return the buffer on the device, and the array in it."""
        return buffer, layout.view(buffer)

    def bytes_of(self, memory: Any) -> np.ndarray[Any, Any]:
        """Return a copy of a buffer's bytes."""
        return memory.copy()


class TorchPlace(Place):
    """A CUDA device, by way of torch tensors."""

    name = "cuda"

    def __init__(self, torch: Any, device: str = "cuda") -> None:
        self._torch = torch
        self._device = device

    def array(self, values: np.ndarray[Any, Any]) -> Any:
        if any(stride < 0 for stride in values.strides):
            pytest.skip("torch has no negative strides")
        low, high = byte_bounds(values)
        raw = np.ctypeslib.as_array((ctypes.c_uint8 * max(high - low, 1)).from_address(low))
        # The same alignment as on the host, which the tests choose on purpose.
        offset = low % 64
        buffer = np.concatenate([np.full(offset, POISON, np.uint8), raw])
        layout = Layout(values.shape, values.strides, values.dtype, offset, buffer.size)
        return self.place(buffer, layout)[1]

    def place(self, buffer: np.ndarray[Any, Any], layout: Layout) -> tuple[Any, Any]:
        item = layout.dtype.itemsize
        whole = -(-max(buffer.size, item) // item) * item
        memory = self._torch.zeros(whole, dtype=self._torch.uint8, device=self._device)
        memory[: buffer.size] = self._torch.from_numpy(buffer).to(self._device)
        array = self._torch.empty(0, dtype=self._dtype(layout.dtype), device=self._device)
        array.set_(
            memory.untyped_storage(),
            layout.offset_bytes // item,
            layout.shape,
            tuple(stride // item for stride in layout.strides_bytes),
        )
        return memory, array

    def bytes_of(self, memory: Any) -> np.ndarray[Any, Any]:
        return memory.cpu().numpy().copy()

    def _dtype(self, dtype: np.dtype[Any]) -> Any:
        special = {
            np.dtype(ml_dtypes.bfloat16): "bfloat16",
            np.dtype(ml_dtypes.float8_e4m3fn): "float8_e4m3fn",
            np.dtype(ml_dtypes.float8_e5m2): "float8_e5m2",
        }
        return getattr(self._torch, special.get(dtype, dtype.name))
