"""Arrays at any place between two boundaries, with poison around them."""

from __future__ import annotations

from typing import Any

import numpy as np

WINDOW, POISON = 16, 0xFF  # NaN in every float type, -1 in every integer type


def shifted(values: np.ndarray[Any, Any], bytes_behind: int, gap_elems: int = 0) -> Any:
    """A copy `bytes_behind` a 16-byte boundary, with unused elements between its rows."""
    pitch = (values.shape[-1] + gap_elems) * values.itemsize
    rows = values.size // values.shape[-1]
    buffer = np.full(rows * pitch + 4 * WINDOW, POISON, np.uint8)
    first = -buffer.ctypes.data % WINDOW + WINDOW + bytes_behind
    raw = buffer[first : first + rows * pitch].view(values.dtype)
    whole = raw.reshape(*values.shape[:-1], values.shape[-1] + gap_elems)
    whole[..., : values.shape[-1]] = values
    return whole[..., : values.shape[-1]]
