"""MLIR types as NumPy sees them.

Integers are signless in the IR, so an ``iN`` tile is a *signed* NumPy array here and the few
unsigned operations reinterpret it; ``i1`` is ``bool``, ``index`` is ``int64``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

#: The element types a tile or an array can have. ``tf32`` is stored as the f32 it was rounded to.
DTYPES: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "index": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "tf32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
}

_TENSOR = re.compile(r"tensor<(?P<shape>(?:\d+x)*)(?P<element>\w+)(?:,.*)?>", re.DOTALL)
_VIEW = re.compile(
    r"!tile\.view<(?P<shape>(?:(?:\?|\d+)x)*)(?P<element>[A-Za-z]\w*)\b.*?"
    r"\b(?P<access>read|exclusive|atomic|unchecked)>",
    re.DOTALL,
)
_PARTITION = re.compile(
    r"!tile\.partition<(?P<tile>(?:\d+(?:x\d+)*)?)\s*of\s*(?P<view>.*)>", re.DOTALL
)


@dataclass(frozen=True)
class TileType:
    """A scalar (rank 0 and ``is_scalar``) or a tile of static shape."""

    shape: tuple[int, ...]
    element: str
    is_scalar: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the NumPy dtype that holds one element."""
        return DTYPES[self.element]


@dataclass(frozen=True)
class ViewType:
    """An array argument: what the executor must know of ``!tile.view`` and ``!tile.partition``."""

    shape: tuple[int | None, ...]
    element: str
    access: str
    tile_shape: tuple[int, ...] | None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the NumPy dtype of the array in memory."""
        return DTYPES[self.element]


def parse(text: str) -> TileType | ViewType | None:
    """Return what a printed MLIR type means, or None for one the executor has no value for."""
    if partition := _PARTITION.fullmatch(text):
        tile = tuple(int(extent) for extent in partition["tile"].split("x") if extent)
        return _view(partition["view"], tile)
    if text.startswith("!tile.view<"):
        return _view(text, None)
    if tensor := _TENSOR.fullmatch(text):
        shape = tuple(int(extent) for extent in tensor["shape"].split("x") if extent)
        return TileType(shape, tensor["element"], False) if tensor["element"] in DTYPES else None
    return TileType((), text, True) if text in DTYPES else None


def _view(text: str, tile_shape: tuple[int, ...] | None) -> ViewType | None:
    match = _VIEW.fullmatch(text)
    if match is None or match["element"] not in DTYPES:
        return None
    shape = tuple(
        None if extent == "?" else int(extent) for extent in match["shape"].split("x") if extent
    )
    return ViewType(shape, match["element"], match["access"], tile_shape)
