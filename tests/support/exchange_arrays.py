"""Arrays with DLPack's exchange table in C, on a GPU that does not exist: as fast as torch's."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def exchange_array_class(library: ctypes.CDLL) -> type[Any]:
    """Return a class of float32 arrays, ``(pointer, shape)``, that recording_driver.c describes."""
    library.fake_exchange_table.restype = ctypes.c_void_p
    capsule = _new_capsule(library.fake_exchange_table(), b"dlpack_exchange_api", None)

    class ExchangeArray:
        __dlpack_c_exchange_api__ = capsule

        def __init__(self, pointer: int, shape: Sequence[int]) -> None:
            self.pointer, self.shape = pointer, tuple(shape)
            rank = len(self.shape)
            extents = (ctypes.c_int64 * rank)(*self.shape)
            full = library.fake_describe_array(
                ctypes.py_object(self), ctypes.c_uint64(pointer), rank, extents
            )
            assert not full, "too many arrays"

    return ExchangeArray
