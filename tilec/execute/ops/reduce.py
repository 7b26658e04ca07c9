"""Reductions, with the combiner that the kernel gave."""

# NumPy's stubs leave most of its functions partly unknown: no strict checks here.
# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from tilec.execute.frame import Frame
from tilec.execute.lower import Block, KernelLowering, tile_type
from tilec.execute.numerics import Array
from tilec.execute.registry import Operation, Step, step


@step("tile.reduce")
def _reduce(op: Operation, kernel: KernelLowering) -> Step:
    """Combine neighbours in pairs, then the pairs, and so on.

    The combiner is compiled once over scalars and applied to whole arrays: NumPy does not mind.
    Only control flow inside it needs one element at a time.
    """
    axis = op.attributes["axis"].value
    sources, results = kernel.slots(op.operands), kernel.slots(op.results)
    result_types = [tile_type(result) for result in op.results]
    combiner = kernel.region(op, 0)
    combine = _by_element if _has_control_flow(op) else _whole

    def run(frame: Frame) -> None:
        tiles = tuple(frame.values[source] for source in sources)
        while tiles[0].shape[axis] > 1:
            tiles = _halve(frame, combiner, tiles, axis, combine)
        for result, tile, kind in zip(results, tiles, result_types, strict=True):
            frame.values[result] = tile.astype(kind.dtype, copy=False)

    return run


def _halve(
    frame: Frame, combiner: Block, tiles: tuple[Array, ...], axis: int, combine: Any
) -> tuple[Array, ...]:
    length = tiles[0].shape[axis]
    even = tuple(_every_other(tile, axis, 0, length // 2 * 2) for tile in tiles)
    odd = tuple(_every_other(tile, axis, 1, length // 2 * 2) for tile in tiles)
    halves = combine(frame, combiner, even, odd)
    if length % 2 == 0:
        return halves
    last = tuple(_every_other(tile, axis, length - 1, length) for tile in tiles)
    return tuple(np.concatenate(pair, axis) for pair in zip(halves, last, strict=True))


def _every_other(tile: Array, axis: int, start: int, stop: int) -> Array:
    return tile[(slice(None),) * axis + (slice(start, stop, 2),)]


def _whole(
    frame: Frame, combiner: Block, left: tuple[Array, ...], right: tuple[Array, ...]
) -> tuple[Array, ...]:
    outcome = combiner.call(frame, *left, *right)
    # A combiner may yield a constant, or a value from outside: give it the elements' shape.
    shape = left[0].shape
    return tuple(v if np.shape(v) == shape else np.broadcast_to(v, shape) for v in outcome)


def _by_element(
    frame: Frame, combiner: Block, left: tuple[Array, ...], right: tuple[Array, ...]
) -> tuple[Array, ...]:
    outcome = tuple(np.empty_like(tile) for tile in left)
    for spot in np.ndindex(left[0].shape):
        scalars = combiner.call(frame, *(t[spot] for t in left), *(t[spot] for t in right))
        for tile, scalar in zip(outcome, scalars, strict=True):
            tile[spot] = scalar
    return outcome


def _has_control_flow(op: Operation) -> bool:
    (block,) = op.regions[0].blocks
    return any(len(inner.operation.regions) > 0 for inner in block.operations)
