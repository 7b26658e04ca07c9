"""Run a module of the ``tile`` dialect on NumPy arrays.

The module's bytecode is all there is: the executor never sees the Python function it came from.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tilec import settings
from tilec.diagnostics import LaunchError
from tilec.execute import ops, sanitizer
from tilec.execute.errors import ExecutionError
from tilec.execute.frame import Frame
from tilec.execute.lower import Block, KernelLowering
from tilec.execute.numerics import Array
from tilec.execute.types import TileType, ViewType, parse
from tilec.execute.views import View

ops.register_all()


@dataclass(frozen=True)
class Program:
    """A kernel, ready to run any number of times.

    Attributes:
        name: the kernel's name.
        argument_names: one an argument, for messages.
        argument_types: what each argument must be.
        body: the kernel's closures.
        slot_count: how many values a frame holds.
    """

    name: str
    argument_names: tuple[str, ...]
    argument_types: tuple[TileType | ViewType, ...]
    body: Block
    slot_count: int

    def run(self, arguments: Sequence[Any], grid: Sequence[int] | None, *, sanitize: bool) -> None:
        """Run every program of the grid, one after the other."""
        values = self._bind(arguments)
        extents = self._grid(values, grid)
        if sanitize:
            values = _with_shadows(values, extents)
        ranges = itertools.product(*map(range, extents))
        with np.errstate(all="ignore"):
            for number, coordinates in enumerate(ranges):
                slots: list[Any] = [None] * self.slot_count
                frame = Frame(slots, coordinates, extents, number, grid is not None)
                self.body.call(frame, *values)
        sanitizer.settle([value for value in values if isinstance(value, View)])

    def _bind(self, arguments: Sequence[Any]) -> list[Any]:
        if len(arguments) != len(self.argument_types):
            raise LaunchError(
                f"{self.name} takes {len(self.argument_types)} arguments, found {len(arguments)}"
            )
        return [
            _bind_array(name, kind, argument)
            if isinstance(kind, ViewType)
            else _bind_scalar(name, kind, argument)
            for name, kind, argument in zip(
                self.argument_names, self.argument_types, arguments, strict=True
            )
        ]

    def _grid(self, values: Sequence[Any], grid: Sequence[int] | None) -> tuple[int, ...]:
        grids = {
            value.name: tile_grid(value.array.shape, value.tile_shape)
            for value in values
            if isinstance(value, View) and value.tile_shape is not None
        }
        if grid is not None:
            if grids:
                raise LaunchError(
                    f"{self.name} has partitions, which give its grid: grid= must be left out"
                )
            return _explicit_grid(grid)
        if not grids:
            raise LaunchError(f"{self.name} has no partition: grid= is needed")
        (first, extents), *others = grids.items()
        for name, other in others:
            if other != extents:
                raise LaunchError(
                    f"tile grids differ: '{first}' has {extents}, '{name}' has {other}"
                )
        return extents


def execute(
    bytecode: bytes,
    arguments: Sequence[Any],
    grid: Sequence[int] | None = None,
    *,
    sanitize: bool | None = None,
) -> None:
    """Run the one kernel of a module on NumPy arrays, in place.

    Args:
        bytecode: MLIR bytecode (or text) of a module with one ``tile.kernel``.
        arguments: the flat run-time arguments: NumPy arrays and scalars.
        grid: one to three extents, for a kernel without a partition.
        sanitize: look for races and other misuse; None asks ``TILEC_SANITIZE``.

    Raises:
        LaunchError: the arguments or the grid do not fit the kernel; nothing ran.
        ExecutionError: a program stopped, or the module has an op that has no rule here.
        SanitizerError: the sanitizer found something.
    """
    if sanitize is None:
        sanitize = settings.current().sanitize
    load(bytecode).run(arguments, grid, sanitize=sanitize)


@functools.lru_cache(maxsize=64)
def load(bytecode: bytes) -> Program:
    """Compile a module's kernel into closures; the same bytecode is compiled once."""
    ir: Any = importlib.import_module("tilec._mlir.ir")
    with ir.Context():
        try:
            module = ir.Module.parse(bytecode)
        except ir.MLIRError as error:
            raise ExecutionError(f"not a module of the tile dialect: {error}") from None
        kernels = [
            view.operation
            for view in module.body.operations
            if view.operation.name == "tile.kernel"
        ]
        if len(kernels) != 1:
            raise ExecutionError(f"a module must hold one tile.kernel, found {len(kernels)}")
        return _compile(kernels[0])


def tile_grid(shape: Sequence[int], tile_shape: Sequence[int]) -> tuple[int, ...]:
    """Return how many tiles cover each dimension.

    Example:
        >>> tile_grid((10, 8), (4, 8))
        (3, 1)
    """
    return tuple(-(-size // tile) for size, tile in zip(shape, tile_shape, strict=True))


def _compile(kernel: Any) -> Program:
    (entry,) = kernel.regions[0].blocks
    names = _argument_names(kernel, len(entry.arguments))
    lowering = KernelLowering()
    types: list[TileType | ViewType] = []
    for name, argument in zip(names, entry.arguments, strict=True):
        kind = parse(str(argument.type))
        if kind is None or (isinstance(kind, TileType) and not kind.is_scalar):
            raise ExecutionError(f"argument '{name}' has no value here: {argument.type}")
        types.append(kind)
    body = lowering.block(entry)
    name = kernel.attributes["sym_name"].value
    return Program(name, names, tuple(types), body, lowering.slot_count)


def _argument_names(kernel: Any, count: int) -> tuple[str, ...]:
    if "arg_names" not in kernel.attributes:
        return tuple(f"#{number}" for number in range(count))
    return tuple(name.value for name in kernel.attributes["arg_names"])


def _bind_array(name: str, kind: ViewType, argument: Any) -> View:
    if not isinstance(argument, np.ndarray):
        found = type(argument).__name__
        raise LaunchError(f"argument '{name}' must be a NumPy array, found {found}")
    given = cast(Array, argument)
    if given.ndim != len(kind.shape):
        raise LaunchError(
            f"argument '{name}' must have rank {len(kind.shape)}, found shape {given.shape}"
        )
    array = _signless(given)
    if array.dtype != kind.dtype:
        raise LaunchError(
            f"argument '{name}' must hold {kind.element} elements, found {given.dtype}"
        )
    for dimension, (extent, size) in enumerate(zip(kind.shape, array.shape, strict=True)):
        if extent is not None and extent != size:
            raise LaunchError(
                f"dimension {dimension} of argument '{name}' must be {extent}, found {size}"
            )
    if kind.access != "read" and not array.flags.writeable:
        raise LaunchError(f"argument '{name}' is written by the kernel, but the array is read-only")
    return View(array, name, kind.access, kind.tile_shape)


def _signless(array: Array) -> Array:
    """Reinterpret unsigned integers as signed ones and bools as bytes, in the same memory."""
    plain = array.view(np.ndarray)
    if array.dtype.kind in "ub":
        return plain.view(f"i{array.dtype.itemsize}")
    return plain


def _bind_scalar(name: str, kind: TileType, argument: Any) -> Any:
    if kind.dtype.kind != "i":
        return kind.dtype.type(argument)
    value, bits = int(argument), kind.dtype.itemsize * 8
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise LaunchError(f"argument '{name}' must fit {kind.element}, found {value}")
    half = 1 << (bits - 1)
    return kind.dtype.type((value + half) % (1 << bits) - half)


def _explicit_grid(grid: Sequence[int]) -> tuple[int, ...]:
    extents = tuple(int(extent) for extent in grid)
    if not 1 <= len(extents) <= 3 or min(extents) < 0:
        raise LaunchError(f"grid must be one to three non-negative integers, found {tuple(grid)}")
    return extents + (1,) * (3 - len(extents))


def _with_shadows(values: Sequence[Any], grid: tuple[int, ...]) -> list[Any]:
    if math.prod(grid) == 0:
        return list(values)
    views = [value for value in values if isinstance(value, View)]
    shadowed = iter(sanitizer.attach(views, grid))
    return [next(shadowed) if isinstance(value, View) else value for value in values]
