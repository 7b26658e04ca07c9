"""Finds what no partition rules out: races, accesses out of range, reads of nothing.

Every element of an array that some program can write has a shadow: the program that wrote it last
and the programs that read it. Two programs that touch one element, one of them writing, race: on
a GPU they run in any order. The shadow belongs to the memory, not to the argument, so arguments
that overlap share it.
"""

# NumPy's stubs leave most of its functions partly unknown: no strict checks here.
# pyright: basic

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from tilec.diagnostics import Frame as SourceFrame
from tilec.execute.errors import SanitizerError
from tilec.execute.frame import program_name
from tilec.execute.numerics import Array
from tilec.execute.views import View

NOBODY = -1
SEVERAL = -2


#: Arrays that nobody has written yet, by address; an array leaves with its memory.
_fresh: weakref.WeakValueDictionary[int, Array] = weakref.WeakValueDictionary()


def uninitialized(shape: Sequence[int], dtype: Any) -> Array:
    """Return an array for an output, which the sanitizer knows to hold nothing.

    Its bytes are all ones: NaN in a float array, −1 in an integer one. After a launch that may
    write to it, it counts as written.

    Example:
        >>> uninitialized((2,), "float32")
        array([nan, nan], dtype=float32)
    """
    array = np.empty(tuple(shape), np.dtype(dtype))
    array.reshape(-1).view(np.uint8).fill(0xFF)
    if array.size > 0:
        _fresh[_bounds(array)[0]] = array
    return array


def settle(views: Sequence[View]) -> None:
    """Count the arrays that a finished launch may have written as written."""
    for view in views:
        if view.access != "read":
            for address in _fresh_addresses(view.array):
                _fresh.pop(address, None)


def _fresh_addresses(array: Array) -> list[int]:
    """Return the addresses of the arrays without values that an array has memory of."""
    low, high = _bounds(array)
    return [
        address
        for address, fresh in list(_fresh.items())
        if address < high and low < address + fresh.nbytes
    ]


@dataclass(frozen=True)
class Shadow:
    """What the sanitizer knows of each element of a view.

    Attributes:
        writer: number of the program that wrote the element last; `NOBODY` for none.
        reader: number of the program that read it; `NOBODY`, or `SEVERAL`.
        holds_nothing: a read is an error unless a program has written the element.
        grid: the launch grid, to name programs in messages.
    """

    writer: Array
    reader: Array
    holds_nothing: bool
    grid: tuple[int, ...]

    def permute(self, order: Sequence[int]) -> Shadow:
        """Follow a permutation of the view's dimensions."""
        return replace(
            self, writer=self.writer.transpose(order), reader=self.reader.transpose(order)
        )


@dataclass(frozen=True)
class Access:
    """One program's access to elements of a view.

    Attributes:
        view: the view, which has a shadow.
        where: what selects the elements: slices, or one index array a dimension.
        program: the program's number.
        frames: where the op was written, for messages.
    """

    view: View
    where: tuple[Any, ...]
    program: int
    frames: tuple[SourceFrame, ...]

    def read(self) -> None:
        """Check and record a read."""
        shadow = self._shadow
        writer = shadow.writer[self.where]
        self._report((writer != NOBODY) & (writer != self.program), "reads", "wrote", writer)
        if shadow.holds_nothing:
            self._report(writer == NOBODY, "reads", "has written", writer)
        reader = shadow.reader[self.where]
        alone = (reader == NOBODY) | (reader == self.program)
        shadow.reader[self.where] = np.where(alone, self.program, SEVERAL)

    def write(self) -> None:
        """Check and record a write."""
        shadow = self._shadow
        writer, reader = shadow.writer[self.where], shadow.reader[self.where]
        self._report((writer != NOBODY) & (writer != self.program), "writes", "wrote", writer)
        self._report((reader != NOBODY) & (reader != self.program), "writes", "read", reader)
        shadow.writer[self.where] = self.program

    @property
    def _shadow(self) -> Shadow:
        assert self.view.shadow is not None
        return self.view.shadow

    def _report(self, wrong: Array, does: str, did: str, others: Array) -> None:
        if not np.any(wrong):
            return
        spot = np.unravel_index(int(np.argmax(wrong)), np.shape(wrong))
        element = tuple(_coordinate(w, d, spot) for d, w in enumerate(self.where))
        raise SanitizerError(
            f"{self._name(self.program)} {does} element {element} of '{self.view.name}', "
            f"which {self._name(int(np.asarray(others)[spot]))} {did}",
            frames=self.frames,
            hint=_HINTS[did],
        )

    def _name(self, program: int) -> str:
        return _CROWDS.get(program) or program_name(program, self._shadow.grid)


_CROWDS = {NOBODY: "no program", SEVERAL: "more than one program"}
_PARTITION_HINT = "programs run in any order: write through a partition, or with an atomic"
_HINTS = {
    "wrote": _PARTITION_HINT,
    "read": _PARTITION_HINT,
    "has written": "the array came from tilec.execute.uninitialized: store before loading",
}


def _coordinate(selector: Any, dimension: int, spot: tuple[Any, ...]) -> int:
    if isinstance(selector, slice):
        return int(selector.start) + int(spot[dimension])
    return int(selector[spot])


def check_tile_start(
    view: View, start: Sequence[int], program: str, frames: tuple[SourceFrame, ...]
) -> None:
    """Report a tile of an unchecked view that begins outside the array.

    A tile that begins inside and reaches over the edge is ordinary: its outer part reads the pad,
    or is dropped.

    Raises:
        SanitizerError: the tile begins outside.
    """
    shape = view.array.shape
    if any(not 0 <= first < max(size, 1) for first, size in zip(start, shape, strict=True)):
        raise SanitizerError(
            f"{program} accesses a tile of '{view.name}' that begins at {tuple(start)}, "
            f"outside its shape {shape}",
            frames=frames,
        )


def check_gather(
    view: View,
    index: Sequence[Array],
    outside: Array,
    program: str,
    frames: tuple[SourceFrame, ...],
) -> None:
    """Report an element outside an unchecked view that a gather wants.

    Raises:
        SanitizerError: `outside` holds somewhere.
    """
    if view.access != "unchecked" or not np.any(outside):
        return
    spot = np.unravel_index(int(np.argmax(outside)), outside.shape)
    element = tuple(int(coordinate[spot]) for coordinate in index)
    raise SanitizerError(
        f"{program} gathers element {element} of '{view.name}', "
        f"outside its shape {view.array.shape}",
        frames=frames,
    )


@dataclass(frozen=True)
class _Memory:
    """The shadow of one stretch of bytes."""

    low: int
    high: int
    writer: Array
    reader: Array

    def over(self, array: Array, program_of_byte: Array) -> Array:
        """Return the bytes' record as an array with one entry an element of `array`."""
        first = array.__array_interface__["data"][0] - self.low
        strides = [stride * program_of_byte.itemsize for stride in array.strides]
        return as_strided(program_of_byte[first:], array.shape, strides)


def attach(views: Sequence[View], grid: tuple[int, ...]) -> list[View]:
    """Give a shadow to every view that shares memory with a writable one.

    Args:
        views: the kernel's array arguments.
        grid: the launch grid.
    """
    bounds = [_bounds(view.array) for view in views]
    writable = [span for view, span in zip(views, bounds, strict=True) if view.access != "read"]
    memories = [
        _Memory(low, high, *(np.full(high - low, NOBODY, np.int32) for _ in range(2)))
        for low, high in _merge(bounds)
        if any(low <= start < high for start, _ in writable)
    ]
    shadowed: list[View] = []
    for view, (low, _) in zip(views, bounds, strict=True):
        owner = next((memory for memory in memories if memory.low <= low < memory.high), None)
        if owner is not None:
            writer, reader = (owner.over(view.array, who) for who in (owner.writer, owner.reader))
            shadow = Shadow(writer, reader, bool(_fresh_addresses(view.array)), grid)
            shadowed.append(replace(view, shadow=shadow))
        else:
            shadowed.append(view)
    return shadowed


def _bounds(array: Array) -> tuple[int, int]:
    """Return the first address of an array and the one after its last; an empty one has none."""
    return byte_bounds(array) if array.size > 0 else (0, 0)


def _merge(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
