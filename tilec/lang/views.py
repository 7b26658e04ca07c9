"""Arrays as a kernel sees them: tensor views and partitions; no data until a tile is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tilec.diagnostics import TraceError
from tilec.lang.dtypes import DType
from tilec.lang.emit import Handle
from tilec.lang.values import Scalar, Tile

if TYPE_CHECKING:
    from tilec.lang.memory import PadValue


class Shape(Sequence[Scalar]):
    """The extents of a view, read when asked for."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __len__(self) -> int:
        return self._view.ndim

    def __getitem__(self, key: Any) -> Any:
        dims = range(len(self))
        if isinstance(key, slice):
            return tuple(memory.dim(self._view, d) for d in dims[key])
        if not isinstance(key, int) or not -len(self) <= key < len(self):
            raise TraceError(f"shape index {key!r} is out of range: the array has rank {len(self)}")
        return memory.dim(self._view, dims[key])

    def __iter__(self) -> Iterator[Scalar]:
        return (memory.dim(self._view, d) for d in range(len(self)))

    def __repr__(self) -> str:
        return f"<the shape of {self._view!r}>"


class View:
    """What tensor views and partitions share."""

    def __init__(self, handle: Handle, type_: ViewType, name: str) -> None:
        self.handle = handle
        self.type = type_
        self.name = name

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.type.divisible)

    @property
    def shape(self) -> Shape:
        """Extents in elements, as run-time integers."""
        return Shape(self)

    def num_tiles(self, axis: int, tile: int) -> Scalar:
        """How many tiles of ``tile`` elements cover an axis."""
        return memory.num_tiles(self, axis, tile)

    def __setitem__(self, key: object, value: object) -> None:
        raise TraceError(
            f"{self.name} cannot be assigned to",
            hint="pass it as tl.partition(x, tile_shape) and call .store(tile)",
        )

    def __getitem__(self, key: object) -> Any:
        raise TraceError(
            f"{self.name} is an array and is read in tiles",
            hint=f"{self.name}.load(index, tile_shape), or {self.name}.gather(indices)",
        )

    def __iter__(self) -> Iterator[Any]:
        raise TraceError(f"{self.name} is an array and cannot be iterated")

    def __len__(self) -> int:
        raise TraceError(f"the length of {self.name} is a run-time value", hint="use x.shape[0]")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.dtype}, rank {self.ndim}>"


class ViewType:
    """The static facts of a view, and how MLIR spells them."""

    __slots__ = ("access", "align", "divisible", "dtype", "index_bits", "stride_align", "unit")

    def __init__(
        self,
        dtype: DType,
        access: str,
        unit: tuple[bool, ...],
        divisible: tuple[int, ...],
        stride_align: tuple[int, ...],
        align: int,
        index_bits: int,
    ) -> None:
        self.dtype = dtype
        self.access = access
        self.unit = unit
        self.divisible = divisible
        self.stride_align = stride_align
        self.align = align
        self.index_bits = index_bits

    def permuted(self, order: tuple[int, ...]) -> ViewType:
        """The type of the same array with its dimensions in another order."""
        return ViewType(
            self.dtype,
            self.access,
            tuple(self.unit[d] for d in order),
            tuple(self.divisible[d] for d in order),
            tuple(self.stride_align[d] for d in order),
            self.align,
            self.index_bits,
        )

    @property
    def element(self) -> str:
        """The MLIR element type in memory: bool arrays hold bytes."""
        return "i8" if self.dtype.is_bool else self.dtype.mlir

    def __str__(self) -> str:
        strides = ", ".join("1" if unit else "?" for unit in self.unit)
        return (
            f"!tile.view<{'?x' * len(self.unit)}{self.element}, strides = [{strides}], "
            f"divisible = {list(self.divisible)}, stride_align = {list(self.stride_align)}, "
            f"align = {self.align}, index = {self.index_bits}, {self.access}>"
        )


class TensorView(View):
    """An array argument: pointer, shape and strides; no data until a tile is loaded."""

    def load(
        self,
        index: object,
        tile_shape: object,
        *,
        pad: PadValue = 0,
        step: Sequence[int] | None = None,
    ) -> Tile:
        """The tile at ``index``, counted in tiles.

        Args:
            index: One tile coordinate a dimension.
            tile_shape: Extents of the tile, compile-time integers.
            pad: What elements outside the array read.
            step: Distance of neighbouring tiles in elements, instead of ``tile_shape``.

        Raises:
            TypeMismatchError: Index, tile shape or step have another rank than the array.
        """
        return memory.load(self, index, tile_shape, pad=pad, step=step)

    def load_like(self, partition: Partition, *, pad: PadValue = 0) -> Tile:
        """The tile at ``partition``'s index, in its tile shape."""
        return memory.load_like(self, partition, pad=pad)

    def store(self, index: object, tile: object) -> None:
        """Write ``tile`` at ``index``, counted in tiles; only ``tl.unchecked`` views take it."""
        memory.store_at(self, index, tile)

    def gather(self, indices: object, *, mask: object = None, fill: PadValue = 0) -> Tile:
        """Single elements: one index tile a dimension, counted in elements.

        Where an index is out of range or ``mask`` is false, the result is ``fill``.
        """
        return memory.gather(self, indices, mask=mask, fill=fill)

    @property
    def T(self) -> TensorView:
        """The view with its dimensions reversed; no data moves."""
        return memory.permute_view(self, tuple(reversed(range(self.ndim))))

    def permute(self, *order: int | tuple[int, ...]) -> TensorView:
        """The view with its dimensions in another order; no data moves."""
        return memory.permute_view(self, order)


class Partition(View):
    """An output divided into equal disjoint tiles, of which this program owns one.

    Attributes:
        tile_shape: Extents of a tile, Python integers; with ``tl.AUTO`` those that were chosen.
    """

    def __init__(
        self, handle: Handle, type_: ViewType, tile_shape: tuple[int, ...], name: str
    ) -> None:
        super().__init__(handle, type_, name)
        self.tile_shape = tile_shape

    @property
    def index(self) -> tuple[Scalar, ...]:
        """The coordinates of this program's tile, counted in tiles."""
        return memory.index(self)

    def load(self) -> Tile:
        """This program's tile as it is in memory; elements outside the array read 0."""
        return memory.load_own(self)

    def store(self, tile: object) -> None:
        """Write this program's tile; elements outside the array are dropped.

        Raises:
            TypeMismatchError: Another shape, or a dtype that the array's cannot hold.
        """
        memory.store(self, tile)


# The functions behind the methods; they import this module, so they come last.
import tilec.lang.memory as memory  # noqa: E402
