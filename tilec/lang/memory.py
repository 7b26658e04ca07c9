"""Reading and writing arrays, a tile at a time.

Tile coordinates count tiles. Elements outside the array read as the padding value, in any
direction, and are dropped when written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tilec.diagnostics import TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.conversion import convert
from tilec.lang.dtypes import DType
from tilec.lang.emit import Emitter, Handle, current
from tilec.lang.operands import (
    as_operand,
    broadcast_shapes,
    describe,
    index_handle,
    is_sequence,
    scalar_handle,
    unify,
)
from tilec.lang.promotion import holds
from tilec.lang.shape import (
    as_tile,
    broadcast_to,
    static_axis,
    static_integer,
    static_order,
    static_shape,
)
from tilec.lang.values import INDEX, Operand, Scalar, Tile, Traced

if TYPE_CHECKING:
    from tilec.lang.views import Partition, TensorView, View

PadValue: TypeAlias = "Scalar | Tile | bool | int | float"


def dim(view: View, axis: int) -> Scalar:
    """The extent of an array along an axis."""
    emitter = current("shape")
    attributes = {"dim": emitter.dialects.integer(axis)}
    handle = emitter.value("tile.dim", (view.handle,), emitter.dialects.type("index"), attributes)
    return Scalar(handle, INDEX, weak=True)


def num_tiles(view: View, axis: int, tile: int) -> Scalar:
    """How many tiles of ``tile`` elements cover an axis.

    Raises:
        TypeMismatchError: No such axis, or a tile extent below 1.
    """
    emitter = current("num_tiles")
    (extent,) = static_shape("num_tiles", (tile,))
    axis = static_axis("num_tiles", axis, view.ndim)
    attributes = {"dim": emitter.dialects.integer(axis), "tile": emitter.dialects.integer(extent)}
    index = emitter.dialects.type("index")
    handle = emitter.value("tile.num_tiles", (view.handle,), index, attributes)
    return Scalar(handle, INDEX, weak=True)


def index(partition: Partition) -> tuple[Scalar, ...]:
    """The tile coordinates of this program."""
    emitter = current("index")
    types = [emitter.dialects.type("index")] * partition.ndim
    op = emitter.op("tile.index", (partition.handle,), types)
    return tuple(Scalar(result, INDEX, weak=True) for result in op.results)


def permute_view(view: TensorView, order: Any) -> TensorView:
    """The view with its dimensions in another order."""
    emitter = current("permute")
    axes = static_order("permute", order, view.ndim)
    type_ = view.type.permuted(axes)
    attributes = {"order": emitter.dialects.integers(axes)}
    result = emitter.dialects.type(str(type_))
    handle = emitter.value("tile.permute_view", (view.handle,), result, attributes)
    return type(view)(handle, type_, view.name)


def load(
    view: TensorView,
    index: object,
    tile_shape: object,
    *,
    pad: PadValue = 0,
    step: Sequence[int] | None = None,
) -> Tile:
    """The tile at ``index``."""
    extents = static_shape("load", tile_shape)
    coordinates = _coordinates("load", view, index)
    _check_rank("load: tile shape", extents, view)
    attributes: dict[str, Any] = {}
    if step is not None:
        steps = tuple(static_integer("load: step", s) for s in step)
        _check_rank("load: step", steps, view)
        attributes["step"] = current("load").dialects.integers(steps)
    return _load(view.handle, view, coordinates, extents, pad, attributes)


def load_like(view: TensorView, partition: Partition, *, pad: PadValue = 0) -> Tile:
    """The tile at a partition's index, in its tile shape."""
    if not is_partition(partition):
        raise TypeMismatchError(
            f"load_like: expected a partition, found {describe(partition)}",
            hint="name the place instead: x.load(index, tile_shape)",
        )
    if partition.ndim != view.ndim:
        raise TypeMismatchError(
            f"load_like: {view.name} has rank {view.ndim}, "
            f"partition {partition.name} has rank {partition.ndim}",
            hint=f"{view.name}.load(index, tile_shape)",
        )
    coordinates = [scalar.handle for scalar in partition.index]
    return _load(view.handle, view, coordinates, partition.tile_shape, pad, {})


def is_partition(value: object) -> bool:
    """Whether ``value`` is a partition."""
    from tilec.lang.views import Partition

    return isinstance(value, Partition)


def load_own(partition: Partition) -> Tile:
    """A partition's tile as it is in memory."""
    emitter = current("load")
    coordinates = [scalar.handle for scalar in partition.index]
    result = emitter.dialects.type(str(partition.type))
    handle = emitter.value("tile.view_of", (partition.handle,), result)
    return _load(handle, partition, coordinates, partition.tile_shape, 0, {})


def _load(
    handle: Handle,
    view: View,
    coordinates: list[Handle],
    extents: tuple[int, ...],
    pad: PadValue,
    attributes: dict[str, Any],
) -> Tile:
    emitter = current("load")
    padding = _padding(emitter, "load: pad", pad, view.dtype)
    sizes = [1, len(coordinates), len(padding)]
    attributes["operandSegmentSizes"] = emitter.dialects.ir.DenseI32ArrayAttr.get(
        sizes, emitter.dialects.context
    )
    result = emitter.dialects.tile(extents, view.type.element)
    loaded = emitter.value("tile.load", [handle, *coordinates, *padding], result, attributes)
    return _from_memory(emitter, loaded, extents, view.dtype)


def _padding(emitter: Emitter, what: str, value: object, dtype: DType) -> list[Handle]:
    """The padding operand; none for the default, which is 0."""
    operand = as_operand(what, value)
    if not isinstance(operand, Traced) and operand == 0 and str(operand)[0] != "-":
        return []
    handle = scalar_handle(what, operand, dtype)
    if dtype.is_bool:
        handle = convert(emitter, handle, dtypes.bool_, dtypes.uint8, None)
    return [handle]


def _from_memory(emitter: Emitter, handle: Handle, shape: tuple[int, ...], dtype: DType) -> Tile:
    """Bool arrays hold bytes; bool tiles hold bits."""
    if dtype.is_bool:
        handle = convert(emitter, handle, dtypes.uint8, dtypes.bool_, shape)
    return Tile(handle, shape, dtype)


def _coordinates(what: str, view: View, index: object) -> list[Handle]:
    given = index if is_sequence(index) else (index,)
    _check_rank(f"{what}: index", given, view)
    return [index_handle(f"{what}: index", value) for value in given]


def _check_rank(what: str, values: Sequence[object], view: View) -> None:
    if len(values) != view.ndim:
        raise TypeMismatchError(
            f"{what} has {len(values)} entries, {view.name} has rank {view.ndim}"
        )


def store(partition: Partition, tile: object) -> None:
    """Write a program's tile."""
    emitter = current("store")
    value = _stored("store", partition, tile, partition.tile_shape)
    emitter.op("tile.store", (value, partition.handle))


def store_at(view: TensorView, index: object, tile: object) -> None:
    """Write a tile anywhere in an unchecked view."""
    if view.type.access != "unchecked":
        raise TypeMismatchError(
            f"{view.name} is read-only",
            hint=f"pass it as tl.partition({view.name}, tile_shape) and call .store(tile)",
        )
    emitter = current("store")
    coordinates = _coordinates("store", view, index)
    value = as_tile("store", tile)
    _check_rank("store: tile", value.shape, view)
    handle = _stored("store", view, value, value.shape)
    emitter.op("tile.store", (handle, view.handle, *coordinates))


def _stored(what: str, view: View, value: object, shape: tuple[int, ...]) -> Handle:
    """``value`` with the dtype and shape that memory takes."""
    operand = as_operand(what, value)
    _check_storable(what, view, operand)
    if isinstance(operand, Tile) and operand.shape not in ((), shape):
        raise TypeMismatchError(
            f"{what}: expected a tile of shape {shape} for {view.name}, found {operand.shape}",
            hint="tl.broadcast_to or .reshape makes the shapes equal",
        )
    operands = unify(what, operand, dtype=view.dtype, shape=shape)
    handle = operands.handles[0]
    if view.dtype.is_bool:
        handle = convert(operands.emitter, handle, dtypes.bool_, dtypes.uint8, shape)
    return handle


def _check_storable(what: str, view: View, operand: Operand) -> None:
    if isinstance(operand, Traced) and not (isinstance(operand, Scalar) and operand.weak):
        if holds(view.dtype, operand.dtype):
            return
    elif _weak_fits(operand, view.dtype):
        return
    raise TypeMismatchError(
        f"{what}: {view.name} holds {view.dtype}, found {describe(operand)}",
        hint=f"convert it: x.to({view.name}.dtype)",
    )


def _weak_fits(operand: Operand, dtype: DType) -> bool:
    is_float = operand.dtype.is_float if isinstance(operand, Traced) else type(operand) is float
    return dtype.is_float or not is_float


def gather(view: TensorView, indices: object, *, mask: object = None, fill: PadValue = 0) -> Tile:
    """Single elements of an array."""
    emitter = current("gather")
    given = indices if is_sequence(indices) else (indices,)
    _check_rank("gather: indices", given, view)
    tiles = [_index_tile(value) for value in given]
    operands = [*tiles] if mask is None else [*tiles, as_tile("gather: mask", mask)]
    shape = operands[0].shape
    for operand in operands[1:]:
        shape = broadcast_shapes("gather", [shape, operand.shape])
    if mask is not None and not operands[-1].dtype.is_bool:
        raise TypeMismatchError(f"gather: mask must be bool, found {operands[-1].dtype}")
    handles = [broadcast_to(operand, shape).handle for operand in operands]
    filling = _padding(emitter, "gather: fill", fill, view.dtype)
    sizes = [1, len(tiles), len(operands) - len(tiles), len(filling)]
    attributes = {
        "operandSegmentSizes": emitter.dialects.ir.DenseI32ArrayAttr.get(
            sizes, emitter.dialects.context
        )
    }
    result = emitter.dialects.tile(shape, view.type.element)
    handle = emitter.value("tile.gather", [view.handle, *handles, *filling], result, attributes)
    return _from_memory(emitter, handle, shape, view.dtype)


def _index_tile(value: object) -> Tile:
    """An index tile of 32 or 64 bits, sign preserved."""
    operand = as_operand("gather: indices", value)
    tile = (
        as_tile("gather: indices", operand) if not isinstance(operand, Scalar) else _wide(operand)
    )
    if not tile.dtype.is_integer:
        raise TypeMismatchError(f"gather: indices must be integers, found {tile.dtype}")
    if tile.dtype in (dtypes.int32, dtypes.int64):
        return tile
    return tile.to(dtypes.int32 if tile.dtype.bits < 32 else dtypes.int64)


def _wide(scalar: Scalar) -> Tile:
    return unify("gather: indices", scalar, dtype=dtypes.int64, shape=()).result_tile()
