"""Arrays in the global memory of a simulated GPU, as far from a boundary as they are here."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.lib.array_utils import byte_bounds

#: No access and no alignment that a kernel may be told of is larger.
BOUNDARY = 128
POISON = 0xFF  # NaN in every float type, -1 in every integer type


class GlobalArray:
    """The bytes of an array, and poison around them."""

    def __init__(self, array: np.ndarray) -> None:
        low, high = byte_bounds(array) if array.size else (array.ctypes.data,) * 2
        self._array = array  # keeps its memory
        self._bytes = np.frombuffer((ctypes.c_uint8 * (high - low)).from_address(low), np.uint8)
        self._start = low % BOUNDARY
        #: Where the first element lies in the memory that surrounds the array.
        self.first = self._start + array.ctypes.data - low

    def read(self, offset: int, count: int, aligned: bool = True) -> np.ndarray:
        """Aligned reads may see poison too, beside at least one byte of the array."""
        assert not aligned or offset % count == 0, "unaligned global read"
        offset -= self._start
        first, end = max(offset, 0), min(offset + count, len(self._bytes))
        assert first < end and (aligned or end - first == count), "global read outside"
        found = np.full(count, POISON, np.uint8)
        found[first - offset : end - offset] = self._bytes[first:end]
        return found

    def write(self, offset: int, data: np.ndarray) -> None:
        assert offset % len(data) == 0, "unaligned global write"
        offset -= self._start
        assert 0 <= offset and offset + len(data) <= len(self._bytes), "global write outside"
        self._bytes[offset : offset + len(data)] = data
