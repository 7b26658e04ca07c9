"""What a kernel is specialized on: one frozen, hashable description per parameter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tilec.lang.dtypes import DType, bool_, float32, int32, int64, uint64

ACCESSES = ("read", "exclusive", "atomic", "unchecked")


@dataclass(frozen=True)
class ViewSpec:
    """A run-time array, and what is known of it when compiling.

    Attributes:
        dtype: Element type.
        rank: Number of dimensions.
        access: ``"read"``, ``"exclusive"`` (a partition), ``"atomic"`` or ``"unchecked"``.
        unit_strides: Whether the stride is one element, per dimension.
        divisible: Largest power of two <= 16 that divides the extent, per dimension (16 for
            extent 0).
        stride_align: Largest power of two <= 128 that divides the stride in bytes, per
            dimension.
        align: Largest power of two <= 128 that divides the pointer; at most 8 for an array that
            no tensor map describes (empty, a negative stride, one of 2**40 bytes or more, an
            extent above 2**31 - 1), so that 16 allows one.
        index_bits: 32 when every byte offset inside the array fits in 31 bits, else 64.
        tile_shape: Shape of the tiles of a partition, else None. ``"auto"`` stands for one that a
            plan is to choose: such a spec is planned for, never traced.
    """

    dtype: DType
    rank: int
    access: str
    unit_strides: tuple[bool, ...]
    divisible: tuple[int, ...]
    stride_align: tuple[int, ...]
    align: int
    index_bits: int
    tile_shape: tuple[int, ...] | Literal["auto"] | None = None


@dataclass(frozen=True)
class ScalarSpec:
    """A run-time Python or NumPy scalar; weak in promotions."""

    dtype: DType


@dataclass(frozen=True)
class ConstantSpec:
    """A compile-time value: a ``Constant``, None, an enum, a frozen dataclass, a tuple of them."""

    value: object


@dataclass(frozen=True)
class TupleSpec:
    """A nested tuple argument."""

    items: tuple[Spec, ...]


Spec: TypeAlias = ViewSpec | ScalarSpec | ConstantSpec | TupleSpec


@dataclass(frozen=True)
class Signature:
    """The specialization of one kernel.

    Attributes:
        specs: A spec per parameter, in order.
        grouped: Whether a launch has a list of problems, whose arguments the specs all describe.
    """

    specs: tuple[Spec, ...]
    grouped: bool = False

    def runtime(self) -> Iterator[ViewSpec | ScalarSpec]:
        """The flat run-time arguments, depth first; launch plans count them in this order."""
        for spec in self.specs:
            yield from _runtime(spec)

    def tile_rank(self) -> int | None:
        """How many dimensions the tile has that a plan is to choose; None if there is none."""
        for spec in self.runtime():
            if isinstance(spec, ViewSpec) and spec.tile_shape == "auto":
                return spec.rank
        return None

    def with_tile(self, tile: tuple[int, ...]) -> Signature:
        """The same specialization with ``tile`` wherever a plan was to choose."""
        return replace(self, specs=tuple(_with_tile(spec, tile) for spec in self.specs))

    def without_tile(self) -> Signature:
        """The same specialization with all tiles left to a plan."""
        return replace(self, specs=tuple(_without_tile(spec) for spec in self.specs))


def _without_tile(spec: Spec) -> Spec:
    if isinstance(spec, TupleSpec):
        return TupleSpec(tuple(_without_tile(item) for item in spec.items))
    if isinstance(spec, ViewSpec) and spec.tile_shape is not None:
        return replace(spec, tile_shape="auto")
    return spec


def _with_tile(spec: Spec, tile: tuple[int, ...]) -> Spec:
    if isinstance(spec, TupleSpec):
        return TupleSpec(tuple(_with_tile(item, tile) for item in spec.items))
    if isinstance(spec, ViewSpec) and spec.tile_shape == "auto":
        return replace(spec, tile_shape=tile)
    return spec


def _runtime(spec: Spec) -> Iterator[ViewSpec | ScalarSpec]:
    if isinstance(spec, TupleSpec):
        for item in spec.items:
            yield from _runtime(item)
    elif isinstance(spec, (ViewSpec, ScalarSpec)):
        yield spec


def scalar_dtype(value: bool | int | float) -> DType:
    """The dtype in which a run-time Python scalar is passed.

    Raises:
        OverflowError: The integer fits neither int64 nor uint64.

    >>> scalar_dtype(2**40)
    int64
    """
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return float32
    for dtype in (int32, int64, uint64):
        if dtype.smallest <= value <= dtype.largest:
            return dtype
    raise OverflowError(f"{value} fits neither int64 nor uint64")
