"""Reading and writing arrays, and what a program knows of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilec.execute import views
from tilec.execute.errors import source_frames
from tilec.execute.frame import Frame
from tilec.execute.lower import KernelLowering, tile_type
from tilec.execute.numerics import Array
from tilec.execute.registry import Operation, Step, pure, step
from tilec.execute.sanitizer import Access, check_gather, check_tile_start
from tilec.execute.views import View


@pure("tile.view_of")
def _view_of(op: Operation) -> Callable[[View], View]:
    return View.whole


@pure("tile.view_cast")
def _view_cast(op: Operation) -> Callable[[View], View]:
    return lambda view: view


@pure("tile.permute_view")
def _permute_view(op: Operation) -> Callable[[View], View]:
    order = tuple(op.attributes["order"])
    return lambda view: view.permute(order)


@pure("tile.dim")
def _dim(op: Operation) -> Callable[[View], Any]:
    dimension = op.attributes["dim"].value
    return lambda view: np.int64(view.array.shape[dimension])


@pure("tile.num_tiles")
def _num_tiles(op: Operation) -> Callable[[View], Any]:
    dimension, tile = op.attributes["dim"].value, op.attributes["tile"].value
    return lambda view: np.int64(-(-view.array.shape[dimension] // tile))


@step("tile.index")
def _index(op: Operation, kernel: KernelLowering) -> Step:
    results = kernel.slots(op.results)

    def run(frame: Frame) -> None:
        for result, coordinate in zip(results, frame.coordinates, strict=True):
            frame.values[result] = np.int64(coordinate)

    return run


@step("tile.program_id")
def _program_id(op: Operation, kernel: KernelLowering) -> Step:
    axis, result = op.attributes["axis"].value, kernel.slot(op.results[0])

    def run(frame: Frame) -> None:
        frame.values[result] = np.int64(_on_axis(frame, axis, frame.coordinates, frame.number, 0))

    return run


@step("tile.num_programs")
def _num_programs(op: Operation, kernel: KernelLowering) -> Step:
    axis, result = op.attributes["axis"].value, kernel.slot(op.results[0])

    def run(frame: Frame) -> None:
        count = math.prod(frame.grid)
        frame.values[result] = np.int64(_on_axis(frame, axis, frame.grid, count, 1))

    return run


def _on_axis(frame: Frame, axis: int, explicit: Sequence[int], linear: int, other: int) -> int:
    """Return an explicit grid's entry; a tile grid is launched as one row of programs."""
    if frame.has_explicit_grid:
        return explicit[axis]
    return linear if axis == 0 else other


@step("tile.load")
def _load(op: Operation, kernel: KernelLowering) -> Step:
    extents = tile_type(op.results[0]).shape
    steps = tuple(op.attributes["step"]) if "step" in op.attributes else extents
    view_slot, index_slots, (pad_slot,) = _segments(op, kernel, 1)
    result = kernel.slot(op.results[0])
    frames = source_frames(op.location)

    def run(frame: Frame) -> None:
        values = frame.values
        view: View = values[view_slot]
        start = [int(values[i]) * s for i, s in zip(index_slots, steps, strict=True)]
        if view.shadow is not None:
            _check(frame, view, start, extents, frames).read()
        pad = 0 if pad_slot is None else values[pad_slot]
        values[result] = views.load(view, start, extents, pad)

    return run


@step("tile.store")
def _store(op: Operation, kernel: KernelLowering) -> Step:
    tile_slot, view_slot, *index_slots = kernel.slots(op.operands)
    extents = tile_type(op.operands[0]).shape
    steps = tuple(op.attributes["step"]) if "step" in op.attributes else extents
    frames = source_frames(op.location)

    def run(frame: Frame) -> None:
        values = frame.values
        view: View = values[view_slot]
        tile = np.asarray(values[tile_slot])
        index = [values[slot] for slot in index_slots] if index_slots else frame.coordinates
        start = [int(i) * s for i, s in zip(index, steps, strict=True)]
        if view.shadow is not None:
            _check(frame, view, start, extents, frames).write()
        views.store(view, start, tile)

    return run


def _check(
    frame: Frame, view: View, start: Sequence[int], extents: Sequence[int], frames: Any
) -> Access:
    if view.access == "unchecked":
        check_tile_start(view, start, frame.program, frames)
    inside = views.window(view.array.shape, start, extents).inside
    return Access(view, inside, frame.number, frames)


@step("tile.gather")
def _gather(op: Operation, kernel: KernelLowering) -> Step:
    view_slot, index_slots, (mask_slot, fill_slot) = _segments(op, kernel, 2)
    result, result_type = kernel.slot(op.results[0]), tile_type(op.results[0])
    frames = source_frames(op.location)

    def run(frame: Frame) -> None:
        values = frame.values
        view: View = values[view_slot]
        index = [np.asarray(values[slot]) for slot in index_slots]
        wanted = np.full(result_type.shape, True) if mask_slot is None else values[mask_slot]
        valid = wanted & _in_range(view.array.shape, index)
        if view.shadow is not None:
            check_gather(view, index, wanted & ~valid, frame.program, frames)
            Access(view, tuple(i[valid] for i in index), frame.number, frames).read()
        tile = np.full(result_type.shape, 0 if fill_slot is None else values[fill_slot])
        tile = tile.astype(result_type.dtype)
        tile[valid] = view.array[tuple(i[valid] for i in index)]
        values[result] = tile

    return run


def _in_range(shape: Sequence[int], index: Sequence[Array]) -> Any:
    valid: Any = True
    for size, coordinate in zip(shape, index, strict=True):
        valid = valid & (coordinate >= 0) & (coordinate < size)
    return valid


def _segments(
    op: Operation, kernel: KernelLowering, optional: int
) -> tuple[int, tuple[int, ...], list[int | None]]:
    """Split ``view, indices…, optional…`` operands, by the op's operand segments."""
    sizes = tuple(op.attributes["operandSegmentSizes"])
    view, *rest = kernel.slots(op.operands)
    indices, tail = rest[: sizes[1]], iter(rest[sizes[1] :])
    return view, tuple(indices), [next(tail) if size else None for size in sizes[-optional:]]
