"""Reductions along axes: deterministic, in an order that is unspecified but fixed for a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tilec.diagnostics import TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.dtypes import DType, as_dtype
from tilec.lang.elementwise import (
    add,
    astype,
    bitwise,
    check_arithmetic,
    compare,
    extreme_op,
    multiply,
    select_op,
    subtract,
)
from tilec.lang.emit import Attribute, call_helper, current
from tilec.lang.operands import as_operand, describe, is_sequence, materialize
from tilec.lang.promotion import as_float, check_literal
from tilec.lang.shape import arange, as_tile, broadcast_to, reshape, static_axis
from tilec.lang.values import Operand, Scalar, Tile

Axis = int | tuple[int, ...] | None
Combiner = Callable[..., Any]


def sum(x: Operand, axis: Axis = None, *, keepdims: bool = False, dtype: object = None) -> Tile:
    """The sum along one axis, several, or all.

    Integers narrower than 32 bits are summed, and returned, in 32; float16 and bfloat16 are summed
    in float32 and returned in their own dtype, unless ``dtype`` names another.
    """
    return _accumulate("sum", add, 0, x, axis, keepdims, dtype)


def prod(x: Operand, axis: Axis = None, *, keepdims: bool = False, dtype: object = None) -> Tile:
    """The product along one axis, several, or all; dtypes as in :func:`sum`."""
    return _accumulate("prod", multiply, 1, x, axis, keepdims, dtype)


def _accumulate(
    what: str,
    combine: Combiner,
    identity: int,
    x: Operand,
    axis: Axis,
    keepdims: bool,
    dtype: object,
) -> Tile:
    tile = as_tile(what, x)
    check_arithmetic(what, tile.dtype)
    result = _accumulated_dtype(tile.dtype) if dtype is None else as_dtype(dtype)
    half = result in (dtypes.float16, dtypes.bfloat16)
    tile = astype(tile, dtypes.float32 if half else result)
    total = _along(
        what,
        tile,
        axis,
        keepdims,
        lambda part, dim: reduce_one([part], dim, combine, [identity])[0],
    )
    return astype(total, result)


def _accumulated_dtype(dtype: DType) -> DType:
    if dtype.is_float or dtype.bits >= 32:
        return dtype
    return dtypes.int32 if dtype.is_signed or dtype.is_bool else dtypes.uint32


def max(
    x: Operand, axis: Axis = None, *, keepdims: bool = False, propagate_nan: bool = True
) -> Tile:
    """The largest element along one axis, several, or all.

    NaN if any element is NaN; with ``propagate_nan=False`` NaN only if all are.
    """
    return _extreme("maximum", x, axis, keepdims, propagate_nan)


def min(
    x: Operand, axis: Axis = None, *, keepdims: bool = False, propagate_nan: bool = True
) -> Tile:
    """The smallest element along one axis, several, or all; NaN as in :func:`max`."""
    return _extreme("minimum", x, axis, keepdims, propagate_nan)


def _extreme(what: str, x: Operand, axis: Axis, keepdims: bool, propagate_nan: bool) -> Tile:
    tile = as_tile(what[:3], x)
    check_arithmetic(what[:3], tile.dtype)
    dtype = tile.dtype
    name = extreme_op(what, dtype, propagate_nan)
    identity = extreme_identity(what, dtype, propagate_nan)

    def combine(left: Scalar, right: Scalar) -> Scalar:
        emitter = current(what)
        handle = emitter.value(name, (left.handle, right.handle), emitter.type_of(dtype, None))
        return Scalar(handle, dtype, weak=False)

    return _along(
        what[:3],
        tile,
        axis,
        keepdims,
        lambda part, dim: reduce_one([part], dim, combine, [identity])[0],
    )


def extreme_identity(what: str, dtype: DType, propagate_nan: bool) -> float:
    """The neutral element of ``minimum`` or ``maximum``."""
    if not dtype.is_float:
        return dtype.smallest if what == "maximum" else dtype.largest
    if not propagate_nan:
        return math.nan
    return -math.inf if what == "maximum" else math.inf


def any(x: Operand, axis: Axis = None, *, keepdims: bool = False) -> Tile:
    """Whether any element along the axes is true (is not 0)."""
    return _logical("any", "|", False, x, axis, keepdims)


def all(x: Operand, axis: Axis = None, *, keepdims: bool = False) -> Tile:
    """Whether all elements along the axes are true (are not 0)."""
    return _logical("all", "&", True, x, axis, keepdims)


def _logical(
    what: str, symbol: str, identity: bool, x: Operand, axis: Axis, keepdims: bool
) -> Tile:
    tile = astype(as_tile(what, x), dtypes.bool_)

    def combine(left: Scalar, right: Scalar) -> Any:
        return bitwise(symbol, left, right)

    return _along(
        what,
        tile,
        axis,
        keepdims,
        lambda part, dim: reduce_one([part], dim, combine, [identity])[0],
    )


def mean(x: Operand, axis: Axis = None, *, keepdims: bool = False) -> Tile:
    """The arithmetic mean; computed in float32 for narrower floats."""
    tile = as_tile("mean", x)
    wide, result = _float_dtypes("mean", tile.dtype)
    total = sum(astype(tile, wide), axis, keepdims=keepdims)
    return astype(total / float(_count("mean", tile, axis)), result)


def var(x: Operand, axis: Axis = None, *, keepdims: bool = False, correction: int = 0) -> Tile:
    """The variance, from the squared distances to the mean (two passes).

    Args:
        x: The tile.
        axis: The axes along which to reduce; None for all.
        keepdims: Keep reduced axes with extent 1.
        correction: Subtracted from the number of elements in the divisor.
    """
    tile = as_tile("var", x)
    wide, result = _float_dtypes("var", tile.dtype)
    tile = astype(tile, wide)
    centered = subtract(tile, mean(tile, axis, keepdims=True))
    total = sum(multiply(centered, centered), axis, keepdims=keepdims)
    count = _count("var", tile, axis) - correction
    if count <= 0:
        raise TypeMismatchError(f"var: correction {correction} leaves nothing to divide by")
    return astype(total / float(count), result)


def _float_dtypes(what: str, dtype: DType) -> tuple[DType, DType]:
    """The dtype in which to compute, and that of the result."""
    check_arithmetic(what, dtype)
    result = as_float(dtype)
    return (dtypes.float32 if result.bits < 32 else result), result


def _count(what: str, tile: Tile, axis: Axis) -> int:
    return math.prod(tile.shape[dim] for dim in _axes(what, tile, axis))


def argmax(x: Operand, axis: int | None = None, *, keepdims: bool = False) -> Tile:
    """The index (int32) of the first largest element; of the first NaN if there is one."""
    return _arg("argmax", ">", "maximum", x, axis, keepdims)


def argmin(x: Operand, axis: int | None = None, *, keepdims: bool = False) -> Tile:
    """The index (int32) of the first smallest element; of the first NaN if there is one."""
    return _arg("argmin", "<", "minimum", x, axis, keepdims)


def _arg(
    what: str, symbol: str, extreme: str, x: Operand, axis: int | None, keepdims: bool
) -> Tile:
    tile = as_tile(what, x)
    check_arithmetic(what, tile.dtype)
    if tile.dtype.is_bool:
        tile = astype(tile, dtypes.int8)
    shape = tile.shape
    if axis is None:
        tile = reshape(tile, (math.prod(shape),))
    dim = static_axis(what, 0 if axis is None else axis, tile.ndim)
    along = [1] * tile.ndim
    along[dim] = tile.shape[dim]
    positions = broadcast_to(reshape(arange(tile.shape[dim]), tuple(along)), tile.shape)

    def combine(a: Scalar, i: Scalar, b: Scalar, j: Scalar) -> tuple[Any, Any]:
        better, same = compare(symbol, a, b), compare("==", a, b)
        if tile.dtype.is_float:  # a NaN beats every number, and the first NaN the others
            a_nan, b_nan = compare("!=", a, a), compare("!=", b, b)
            better = better | (a_nan & ~b_nan)
            same = same | (a_nan & b_nan)
        first = better | (same & compare("<", i, j))
        return select_op(first, a, b), select_op(first, i, j)

    identities = [extreme_identity(extreme, tile.dtype, True), dtypes.int32.largest]
    _, found = reduce_one([tile, positions], dim, combine, identities)
    if keepdims:
        return found if axis is not None else reshape(found, (1,) * len(shape))
    return reshape(found, tuple(e for d, e in enumerate(tile.shape) if d != dim))


def reduce(
    x: Operand | Sequence[Operand],
    axis: Axis,
    combine: Combiner,
    identity: bool | int | float | Sequence[bool | int | float],
    *,
    keepdims: bool = False,
) -> Any:
    """A reduction by a function of the author's.

    Args:
        x: A tile, or a tuple of tiles of one shape that are reduced together.
        axis: The axes along which to reduce; None for all.
        combine: An associative and commutative function of two elements, or of the elements of
            two tuples: ``combine((a0, a1), (b0, b1)) -> (c0, c1)``.
        identity: The neutral element of ``combine``, a Python number (a tuple of them).
        keepdims: Keep reduced axes with extent 1.

    Raises:
        TypeMismatchError: Tiles of different shapes, or a combined value of another dtype.
    """
    several = isinstance(x, (tuple, list))
    tiles = [as_tile("reduce", value) for value in (x if several else (x,))]  # type: ignore[arg-type, union-attr]
    identities: list[Any] = list(identity) if is_sequence(identity) else [identity]
    if any_differs([tile.shape for tile in tiles]):
        raise TypeMismatchError(
            f"reduce: tiles must have one shape, found {', '.join(str(t.shape) for t in tiles)}"
        )
    if len(identities) != len(tiles):
        raise TypeMismatchError(
            f"reduce: expected one identity a tile ({len(tiles)}), found {len(identities)}"
        )

    def combine_flat(*elements: Scalar) -> Any:
        if not several:
            return call_helper(combine, *elements)
        half = len(elements) // 2
        return call_helper(combine, elements[:half], elements[half:])

    dims = _axes("reduce", tiles[0], axis)
    for dim in dims:
        tiles = reduce_one(tiles, dim, combine_flat, identities)
    results = tuple(tile if keepdims else _drop(tile, dims) for tile in tiles)
    return results if several else results[0]


def any_differs(values: Sequence[object]) -> bool:
    """Whether the values are not all equal."""
    return len(set(values)) > 1


def _along(
    what: str, tile: Tile, axis: Axis, keepdims: bool, step: Callable[[Tile, int], Tile]
) -> Tile:
    dims = _axes(what, tile, axis)
    for dim in dims:
        tile = step(tile, dim)
    return tile if keepdims else _drop(tile, dims)


def _axes(what: str, tile: Tile, axis: Axis) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(tile.ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    dims = tuple(static_axis(what, a, tile.ndim) for a in axes)
    if len(set(dims)) != len(dims):
        raise TypeMismatchError(f"{what}: axes {axes} repeat")
    return dims


def _drop(tile: Tile, dims: Sequence[int]) -> Tile:
    return reshape(tile, tuple(e for d, e in enumerate(tile.shape) if d not in dims))


def reduce_one(
    tiles: Sequence[Tile], dim: int, combine: Combiner, identities: Sequence[float]
) -> list[Tile]:
    """Emit one reduction along one axis, which stays with extent 1."""
    emitter = current("reduce")
    dialects = emitter.dialects
    shape = tuple(1 if d == dim else extent for d, extent in enumerate(tiles[0].shape))
    attributes = {
        "axis": dialects.integer(dim),
        "identities": dialects.array(
            [_identity(tile.dtype, value) for tile, value in zip(tiles, identities, strict=True)]
        ),
    }
    op = emitter.op(
        "tile.reduce",
        [tile.handle for tile in tiles],
        [emitter.type_of(tile.dtype, shape) for tile in tiles],
        attributes,
        regions=1,
    )
    kinds = [tile.dtype for tile in tiles] * 2
    block = emitter.add_block(op.regions[0], [emitter.type_of(dtype, None) for dtype in kinds])
    with emitter.at(block):
        arguments = [
            Scalar(argument, dtype, weak=False)
            for argument, dtype in zip(block.arguments, kinds, strict=True)
        ]
        emitter.op("tile.yield", _combined(tiles, combine(*arguments)))
    return [Tile(result, shape, tile.dtype) for result, tile in zip(op.results, tiles, strict=True)]


def _identity(dtype: DType, value: float) -> Attribute:
    check_literal(value, dtype)
    return current("reduce").dialects.number(value, dtype)


def _combined(tiles: Sequence[Tile], results: Any) -> list[Any]:
    values = list(results) if is_sequence(results) else [results]
    if len(values) != len(tiles):
        raise TypeMismatchError(
            f"reduce: combine must return {len(tiles)} values, found {len(values)}"
        )
    handles: list[Any] = []
    emitter = current("reduce")
    for tile, value in zip(tiles, values, strict=True):
        operand = as_operand("reduce", value)
        if isinstance(operand, Scalar) and not operand.weak and operand.dtype is not tile.dtype:
            raise TypeMismatchError(
                f"reduce: combine must return {tile.dtype}, found {describe(operand)}",
                hint=f"convert it: x.to(tl.{tile.dtype})",
            )
        handles.append(materialize(emitter, operand, tile.dtype, None))
    return handles
