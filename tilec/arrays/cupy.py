"""CuPy arrays: the CUDA array interface says neither the device nor the current stream."""

from __future__ import annotations

import sys
from typing import Any


def device(array: Any) -> int:
    """Return the ordinal of the GPU that holds an array."""
    return int(array.device.id)


def current_stream(device: int) -> int:
    """Return the handle of the current stream of a device."""
    return int(sys.modules["cupy"].cuda.get_current_stream(device).ptr)
