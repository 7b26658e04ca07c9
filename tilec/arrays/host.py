"""Host memory as the NumPy arrays that the CPU executor works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilec.lang.dtypes import BY_SHORT


@dataclass(frozen=True)
class _Memory:
    """Memory of another library, shown to NumPy; keeps its owner alive."""

    owner: object
    __array_interface__: dict[str, Any]


def as_numpy(
    owner: object,
    pointer: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: str,
    read_only: bool,
) -> Any:
    """Return a NumPy array over the memory of a host array; no copy.

    Args:
        owner: the array, of any library; a NumPy array is returned as it is.
        pointer: the address of its first element.
        shape: its extents.
        strides: its strides, in elements.
        dtype: short name of its element type.
        read_only: whether it must not be written.
    """
    import numpy

    if type(owner) is numpy.ndarray:
        return owner
    element = BY_SHORT[dtype]
    size = element.itemsize_bytes
    # The interface has no names for bfloat16 and the 8-bit floats: show integers, then view them.
    interface: dict[str, Any] = {
        "version": 3,
        "shape": shape,
        "typestr": f"<u{size}",
        "data": (pointer, read_only),
        "strides": tuple(step * size for step in strides),
    }
    memory: Any = numpy.asarray(_Memory(owner, interface))
    return memory.view(element.numpy)
