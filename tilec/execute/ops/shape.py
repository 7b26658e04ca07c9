"""Making tiles and changing their shape."""

# NumPy's stubs leave most of its functions partly unknown: no strict checks here.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilec.execute.lower import tile_type
from tilec.execute.numerics import Array
from tilec.execute.registry import Operation, pure


@pure("tile.iota")
def _iota(op: Operation) -> Callable[[], Array]:
    result = tile_type(op.results[0])
    axis = op.attributes["axis"].value
    along = np.arange(result.shape[axis]).astype(result.dtype)
    others = [1] * len(result.shape)
    others[axis] = -1
    tile = np.broadcast_to(along.reshape(others), result.shape)
    return lambda: tile


@pure("tile.splat")
def _splat(op: Operation) -> Callable[[Any], Array]:
    result = tile_type(op.results[0])
    return lambda scalar: np.full(result.shape, scalar, result.dtype)


@pure("tile.broadcast")
def _broadcast(op: Operation) -> Callable[[Array], Array]:
    shape = tile_type(op.results[0]).shape
    return lambda tile: np.broadcast_to(tile, shape)


@pure("tile.reshape")
def _reshape(op: Operation) -> Callable[[Array], Array]:
    shape = tile_type(op.results[0]).shape
    return lambda tile: np.reshape(tile, shape)


@pure("tile.permute")
def _permute(op: Operation) -> Callable[[Array], Array]:
    order = tuple(op.attributes["order"])
    return lambda tile: np.transpose(tile, order)


@pure("tile.extract")
def _extract(op: Operation) -> Callable[[Array], Any]:
    return lambda tile: np.reshape(tile, ())[()]
