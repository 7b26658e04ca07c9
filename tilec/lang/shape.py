"""Making tiles and changing their shape; no element is computed here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilec.diagnostics import ControlFlowError, TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.dtypes import as_dtype
from tilec.lang.elementwise import add, astype, multiply
from tilec.lang.emit import current
from tilec.lang.operands import (
    as_operand,
    broadcast_handle,
    broadcast_shapes,
    describe,
    is_number,
    is_sequence,
    unify,
)
from tilec.lang.values import Operand, Scalar, Tile, Traced


def static_shape(what: str, shape: object) -> tuple[int, ...]:
    """A tile shape as a tuple of Python integers.

    Raises:
        TypeMismatchError: An extent is below 1, or the shape is no sequence of integers.
        ControlFlowError: An extent is a run-time value.
    """
    if isinstance(shape, int) and not isinstance(shape, bool):
        shape = (shape,)
    if not is_sequence(shape):
        raise TypeMismatchError(f"{what}: expected a shape, found {describe(shape)}")
    extents = tuple(static_integer(f"{what}: a tile's shape", extent) for extent in shape)
    if any(extent < 1 for extent in extents):
        raise TypeMismatchError(f"{what}: extents must be at least 1, found {extents}")
    return extents


def static_integer(what: str, value: object) -> int:
    """A compile-time integer.

    Raises:
        ControlFlowError: A run-time value.
        TypeMismatchError: No integer.
    """
    if isinstance(value, Traced):
        raise ControlFlowError(
            f"{what} must be known at compile time, found {describe(value)}",
            hint="make it a tl.Constant parameter",
        )
    index = getattr(value, "__index__", None)
    if index is None or isinstance(value, bool):
        raise TypeMismatchError(f"{what} must be an integer, found {describe(value)}")
    return int(index())


def static_axis(what: str, axis: object, rank: int) -> int:
    """An axis as a number from 0.

    Raises:
        TypeMismatchError: No such axis.
    """
    number = static_integer(f"{what}: axis", axis)
    if not -rank <= number < rank:
        raise TypeMismatchError(f"{what}: axis {number} is out of range for rank {rank}")
    return number % rank


def as_tile(what: str, value: object) -> Tile:
    """``value`` as a tile; scalars and numbers become tiles of rank 0.

    Raises:
        TypeMismatchError: It is neither a tile nor a number.
    """
    operand = as_operand(what, value)
    if isinstance(operand, Tile):
        return operand
    return unify(what, operand, shape=()).result_tile()


def full(shape: object, value: Operand, dtype: object = None) -> Tile:
    """A tile whose elements all equal ``value``.

    Args:
        shape: Extents of the tile, compile-time integers.
        value: A number, a run-time scalar or a one-element tile.
        dtype: Element type; by default that of ``value`` (int32 and float32 for weak scalars).
    """
    extents = static_shape("full", shape)
    operand = as_operand("full", value)
    if dtype is not None and not is_number(operand):
        operand = astype(operand, dtype)
    target = as_dtype(dtype) if dtype is not None else None
    if target is not None and not target.is_float and isinstance(operand, float):
        raise TypeMismatchError(f"full: {operand} is no {target}")
    if isinstance(operand, Tile) and math.prod(operand.shape) == 1:
        operand = reshape(operand, ())
    return unify("full", operand, dtype=target, shape=extents).result_tile()


def zeros(shape: object, dtype: object = dtypes.float32) -> Tile:
    """A tile of zeros."""
    return full(shape, 0, dtype)


def ones(shape: object, dtype: object = dtypes.float32) -> Tile:
    """A tile of ones."""
    return full(shape, 1, dtype)


def arange(
    start: int, stop: int | None = None, step: int = 1, *, dtype: object = dtypes.int32
) -> Tile:
    """The integers from ``start`` (default 0) up to ``stop``, exclusive, as a tile of rank 1.

    Raises:
        TypeMismatchError: The range is empty, or a bound does not fit the dtype.
    """
    first, last = (0, start) if stop is None else (start, stop)
    numbers = range(*(static_integer("arange", v) for v in (first, last, step)))
    if not numbers:
        raise TypeMismatchError(f"arange: {numbers} is empty, and a tile has at least one element")
    target = as_dtype(dtype)
    kind = target if target.is_integer else dtypes.int32
    emitter = current("arange")
    shape = (len(numbers),)
    attributes = {"axis": emitter.dialects.integer(0)}
    handle = emitter.value("tile.iota", (), emitter.type_of(kind, shape), attributes)
    result = Tile(handle, shape, kind)
    if numbers.step != 1:
        result = multiply(result, numbers.step)
    if numbers.start != 0:
        result = add(result, numbers.start)
    return result if kind is target else astype(result, target)


def reshape(x: Tile, shape: object) -> Tile:
    """The same elements, row-major, in another shape; one extent may be -1.

    Raises:
        TypeMismatchError: Another number of elements.
    """
    tile = as_tile("reshape", x)
    extents = _resolve_shape(tile, shape)
    if extents == tile.shape:
        return tile
    emitter = current("reshape")
    handle = emitter.value("tile.reshape", (tile.handle,), emitter.type_of(tile.dtype, extents))
    return Tile(handle, extents, tile.dtype)


def _resolve_shape(tile: Tile, shape: object) -> tuple[int, ...]:
    given = (shape,) if isinstance(shape, int) else shape
    count = math.prod(tile.shape)
    extents = tuple(
        static_integer("reshape: a tile's shape", e) for e in (given if is_sequence(given) else ())
    )
    if extents.count(-1) == 1:
        known = -math.prod(extents)
        given = tuple(count // known if e == -1 and known else e for e in extents)
    extents = static_shape("reshape", given)
    if math.prod(extents) != count:
        raise TypeMismatchError(
            f"reshape: {tile.shape} has {count} elements, {extents} has {math.prod(extents)}"
        )
    return extents


def permute(x: Tile, order: Sequence[Any]) -> Tile:
    """The tile with its dimensions in another order.

    Raises:
        TypeMismatchError: ``order`` does not name every dimension once.
    """
    tile = as_tile("permute", x)
    axes = static_order("permute", order, tile.ndim)
    if axes == tuple(range(tile.ndim)):
        return tile
    emitter = current("permute")
    shape = tuple(tile.shape[axis] for axis in axes)
    attributes = {"order": emitter.dialects.integers(axes)}
    result = emitter.type_of(tile.dtype, shape)
    return Tile(
        emitter.value("tile.permute", (tile.handle,), result, attributes), shape, tile.dtype
    )


def static_order(what: str, order: Sequence[Any], rank: int) -> tuple[int, ...]:
    """A permutation of ``range(rank)``, given as one sequence or as a sequence of one.

    Raises:
        TypeMismatchError: It does not name every dimension once.
    """
    if len(order) == 1 and is_sequence(order[0]):
        order = order[0]
    axes = tuple(static_axis(what, axis, rank) for axis in order)
    if sorted(axes) != list(range(rank)):
        raise TypeMismatchError(
            f"{what}: expected an order of the dimensions 0 to {rank - 1}, found {tuple(order)}"
        )
    return axes


def transpose(x: Tile) -> Tile:
    """The tile with its last two dimensions exchanged."""
    tile = as_tile("transpose", x)
    if tile.ndim < 2:
        raise TypeMismatchError(f"transpose: expected rank 2 or more, found shape {tile.shape}")
    leading = range(tile.ndim - 2)
    return permute(tile, (*leading, tile.ndim - 1, tile.ndim - 2))


def broadcast_to(x: Operand, shape: object) -> Tile:
    """The tile repeated along its dimensions of extent 1, and new leading ones.

    Raises:
        TypeMismatchError: The shape does not broadcast to the target.
    """
    tile = as_tile("broadcast_to", x)
    extents = static_shape("broadcast_to", shape)
    broadcast_shapes("broadcast_to", [tile.shape], extents)
    handle = broadcast_handle(current("broadcast_to"), tile.handle, tile.dtype, tile.shape, extents)
    return Tile(handle, extents, tile.dtype)


def expand_dims(x: Tile, axis: int | tuple[int, ...]) -> Tile:
    """The tile with new dimensions of extent 1 at the given places of the result."""
    tile = as_tile("expand_dims", x)
    axes = axis if isinstance(axis, tuple) else (axis,)
    rank = tile.ndim + len(axes)
    places = {static_axis("expand_dims", a, rank) for a in axes}
    if len(places) != len(axes):
        raise TypeMismatchError(f"expand_dims: axes {axes} repeat")
    rest = iter(tile.shape)
    return reshape(tile, tuple(1 if d in places else next(rest) for d in range(rank)))


def squeeze(x: Tile, axis: int | tuple[int, ...] | None = None) -> Tile:
    """The tile without its dimensions of extent 1, or without the named ones.

    Raises:
        TypeMismatchError: A named dimension has another extent.
    """
    tile = as_tile("squeeze", x)
    if axis is None:
        places = {d for d, extent in enumerate(tile.shape) if extent == 1}
    else:
        axes = axis if isinstance(axis, tuple) else (axis,)
        places = {static_axis("squeeze", a, tile.ndim) for a in axes}
    for place in places:
        if tile.shape[place] != 1:
            raise TypeMismatchError(
                f"squeeze: dimension {place} of {tile.shape} has extent {tile.shape[place]}, not 1"
            )
    return reshape(tile, tuple(e for d, e in enumerate(tile.shape) if d not in places))


def index(x: Tile, key: Any) -> Tile:
    """``x[:, None]``: whole axes and new ones; elements are not addressed this way.

    Raises:
        TypeMismatchError: An index that is neither ``:``, ``None`` nor ``...``.
    """
    keys: tuple[Any, ...] = tuple(key) if is_sequence(key) else (key,)
    for item in keys:
        if not (item is None or item is Ellipsis or _is_whole(item)):
            raise TypeMismatchError(
                f"a tile is indexed with :, None and ... only, found {describe(item)}",
                hint="select elements with tl.where and a comparison of tl.arange, then reduce",
            )
    named = sum(_is_whole(item) for item in keys)
    if keys.count(Ellipsis) > 1 or named > x.ndim:
        raise TypeMismatchError(f"too many indices for a tile of shape {x.shape}")
    if Ellipsis not in keys:
        keys = (*keys, Ellipsis)
    at = keys.index(Ellipsis)
    whole = slice(None)
    keys = (*keys[:at], *[whole] * (x.ndim - named), *keys[at + 1 :])
    rest = iter(x.shape)
    return reshape(x, tuple(1 if item is None else next(rest) for item in keys))


def _is_whole(item: object) -> bool:
    return isinstance(item, slice) and item == slice(None)


def item(x: Tile) -> Scalar:
    """The element of a one-element tile, as a scalar.

    Raises:
        TypeMismatchError: More than one element.
    """
    if math.prod(x.shape) != 1:
        raise TypeMismatchError(f"item: expected a tile of one element, found shape {x.shape}")
    emitter = current("item")
    handle = emitter.value("tile.extract", (x.handle,), emitter.type_of(x.dtype, None))
    return Scalar(handle, x.dtype, weak=False)
