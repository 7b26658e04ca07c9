"""What the kernels' host functions share: shape checks and the choice of tile shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import tilec as tl

#: A tile of so many elements keeps 128 threads busy with several 16-byte accesses each.
TILE_ELEMS = 4096


class Array(Protocol):
    """Any array that tilec takes: torch, CuPy, JAX, DLPack, NumPy."""

    @property
    def shape(self) -> Sequence[int]:
        """Return the extents."""
        ...


def row_tile(shape: Sequence[int], tile_elems: int = TILE_ELEMS) -> tuple[int, int]:
    """Return a tile of whole rows: as many as fit in ``tile_elems`` elements, at least one.

    The number of rows is a power of two, so that the rows divide evenly among warps.

    Example:
        >>> row_tile((65536, 1024)), row_tile((8, 16384))
        ((4, 1024), (1, 16384))
    """
    rows, columns = shape
    fit = max(1, min(tile_elems // max(columns, 1), rows))
    return 1 << (fit.bit_length() - 1), max(columns, 1)


def flat_tile(shape: Sequence[int], tile_elems: int = TILE_ELEMS) -> tuple[int, ...]:
    """Return a tile that fills up from the last dimension, for kernels that work on any rank.

    Extents are powers of two, or the whole dimension.

    Example:
        >>> flat_tile((1 << 28,)), flat_tile((64, 1000, 48))
        ((4096,), (1, 64, 48))
    """
    tile: list[int] = []
    left = tile_elems
    for size in reversed(shape):
        extent = max(1, min(size, left))
        if extent != size:
            extent = 1 << (extent.bit_length() - 1)
        tile.append(extent)
        left //= extent
    return tuple(reversed(tile))


def check_shape(name: str, array: Array, expected: Sequence[int]) -> None:
    """Refuse an array of another shape.

    Raises:
        LaunchError: the shapes differ.
    """
    found = tuple(array.shape)
    if found != tuple(expected):
        raise tl.LaunchError(f"{name} must have shape {tuple(expected)}, found {found}")


def check_rank(name: str, array: Array, rank: int) -> None:
    """Refuse an array of another rank.

    Raises:
        LaunchError: the ranks differ.
    """
    if len(array.shape) != rank:
        raise tl.LaunchError(f"{name} must have rank {rank}, found shape {tuple(array.shape)}")


def compute_type(dtype: tl.DType) -> tl.DType:
    """Return the float type to compute in: f32, or f64 for an f64 array."""
    return tl.float64 if dtype == tl.float64 else tl.float32
