"""Arrays in memory, as a kernel sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tilec.execute.numerics import Array
    from tilec.execute.sanitizer import Shadow


@dataclass(frozen=True)
class View:
    """An array argument, or the same memory with its dimensions reordered.

    Attributes:
        array: the elements, signless and in the view's order of dimensions.
        name: the kernel's name for the argument.
        access: ``read``, ``exclusive``, ``atomic`` or ``unchecked``.
        tile_shape: the tiles of a partition; None for a plain view.
        shadow: what the sanitizer knows of the elements, in the same order; None when it is off.
    """

    array: Array
    name: str
    access: str
    tile_shape: tuple[int, ...] | None = None
    shadow: Shadow | None = None

    def permute(self, order: Sequence[int]) -> View:
        """Return the view whose dimension ``d`` is this one's dimension ``order[d]``."""
        shadow = self.shadow and self.shadow.permute(order)
        return replace(self, array=self.array.transpose(order), shadow=shadow)

    def whole(self) -> View:
        """Return the view under a partition."""
        return replace(self, tile_shape=None)


@dataclass(frozen=True)
class Window:
    """The part of a box that lies inside an array.

    Attributes:
        inside: the part, as slices of the array.
        tile: the same part, as slices of the box.
        is_whole: True when no element of the box lies outside.
    """

    inside: tuple[slice, ...]
    tile: tuple[slice, ...]
    is_whole: bool


def window(array_shape: Sequence[int], start: Sequence[int], extents: Sequence[int]) -> Window:
    """Clip the box ``start … start + extents`` to an array.

    Example:
        >>> window((10,), (8,), (4,))
        Window(inside=(slice(8, 10, None),), tile=(slice(0, 2, None),), is_whole=False)
    """
    inside: list[slice] = []
    tile: list[slice] = []
    is_whole = True
    for size, first, extent in zip(array_shape, start, extents, strict=True):
        low = min(max(first, 0), size)
        high = max(min(first + extent, size), low)
        inside.append(slice(low, high))
        # A box that misses the array has an empty part, wherever it is.
        offset = low - first if high > low else 0
        tile.append(slice(offset, offset + high - low))
        is_whole = is_whole and high - low == extent
    return Window(tuple(inside), tuple(tile), is_whole)


def load(view: View, start: Sequence[int], extents: Sequence[int], pad: Any) -> Array:
    """Copy a box of an array; what lies outside reads ``pad``."""
    part = window(view.array.shape, start, extents)
    if part.is_whole:
        return view.array[part.inside].copy()
    tile = np.full(extents, pad, view.array.dtype)
    tile[part.tile] = view.array[part.inside]
    return tile


def store(view: View, start: Sequence[int], tile: Array) -> None:
    """Write a box of an array; what lies outside is dropped."""
    part = window(view.array.shape, start, tile.shape)
    view.array[part.inside] = tile[part.tile]
