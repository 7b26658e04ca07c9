"""What concerns a program as a whole: its place in a grid, compile-time checks, constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, TypeAlias, TypeVar

from tilec.diagnostics import TraceError, TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.emit import current
from tilec.lang.operands import describe, unify
from tilec.lang.shape import static_integer
from tilec.lang.values import INDEX, Scalar, Traced


@dataclass(frozen=True)
class ConstantMark:
    """What tells a ``tl.Constant`` annotation from others."""


T = TypeVar("T")
Constant: TypeAlias = Annotated[T, ConstantMark()]
"""Annotation of a parameter whose value is known at compile time: ``tk: tl.Constant[int] = 64``."""


def program_id(axis: int) -> Scalar:
    """This program's number along an axis of a grid given with ``grid=``.

    Raises:
        TypeMismatchError: The axis is not 0, 1 or 2.
    """
    return _grid("program_id", axis)


def num_programs(axis: int) -> Scalar:
    """The extent of a grid given with ``grid=`` along an axis.

    Raises:
        TypeMismatchError: The axis is not 0, 1 or 2.
    """
    return _grid("num_programs", axis)


def _grid(what: str, axis: int) -> Scalar:
    emitter = current(what)
    number = static_integer(f"{what}: axis", axis)
    if number not in (0, 1, 2):
        raise TypeMismatchError(f"{what}: axis must be 0, 1 or 2, found {number}")
    attributes = {"axis": emitter.dialects.integer(number)}
    handle = emitter.value(f"tile.{what}", (), emitter.dialects.type("index"), attributes)
    return Scalar(handle, INDEX, weak=True)


def static_range(start: int, stop: int | None = None, step: int = 1) -> StaticRange:
    """A ``range`` over compile-time integers; a loop over it is unrolled."""
    first, last = (0, start) if stop is None else (start, stop)
    return StaticRange(*(static_integer("static_range", value) for value in (first, last, step)))


class StaticRange:
    """What :func:`static_range` returns: iterable once unrolled, told from a plain range."""

    def __init__(self, start: int, stop: int, step: int) -> None:
        self.numbers = range(start, stop, step)

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


def static_print(*values: object) -> None:
    """Print while the kernel is traced; tiles show their dtype and shape."""
    import builtins

    builtins.print(*(repr(v) if isinstance(v, Traced) else v for v in values))


def static_assert(condition: object, message: str = "") -> None:
    """Refuse the kernel unless a compile-time condition holds.

    Raises:
        TraceError: The condition is false, or not known at compile time.
    """
    if isinstance(condition, Traced):
        raise TraceError(
            f"static_assert: expected a compile-time condition, found {describe(condition)}",
            hint="use tl.assert_ for a check at run time",
        )
    if not condition:
        raise TraceError(f"static_assert failed: {message}" if message else "static_assert failed")


def assume(condition: Scalar) -> None:
    """Promise the compiler that a condition holds; a broken promise has undefined results.

    Raises:
        TypeMismatchError: The condition is not a run-time bool.
    """
    operands = unify("assume", condition)
    if not operands.dtype.is_bool:
        raise TypeMismatchError(f"assume: expected a bool condition, found {describe(condition)}")
    handle = operands.handles[0]
    if operands.shape is not None:
        if any(extent != 1 for extent in operands.shape):
            raise TypeMismatchError(f"assume: expected one bool, found {describe(condition)}")
        boolean = operands.emitter.type_of(dtypes.bool_, None)
        handle = operands.emitter.value("tile.extract", (handle,), boolean)
    operands.emitter.op("tile.assume", (handle,))
