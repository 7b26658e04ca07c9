"""Looking at a kernel while it runs: printing, assertions, the debugger."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilec.diagnostics import TypeMismatchError
from tilec.lang import dtypes
from tilec.lang.elementwise import astype
from tilec.lang.emit import Attribute, Emitter, current
from tilec.lang.operands import as_operand, describe, is_number, is_sequence
from tilec.lang.values import Operand, Scalar, Tile, Traced
from tilec.lang.views import View


def print(*values: object) -> None:
    """Print from every program when the kernel runs.

    Each line begins with the program: ``program (1, 2): x is 0.5``. The CPU executor shows a tile
    as NumPy does, and programs in their order. On a GPU programs print in any order, and a tile of
    more than one element takes a line an element, ``program (1, 2), element (3, 4): x is 0.5``;
    tiles of one shape share these lines, and a tile of another shape shows as ``[...]`` there.

    Args:
        values: An optional format with one ``{}`` a value, then the values. Without a format they
            are separated by spaces.

    Raises:
        TypeMismatchError: The format has another number of ``{}`` than there are values.
        CompileError: More than 32 numbers in a line on a GPU, coordinates included.

    Source:
        CUDA C++ Programming Guide, "Formatted Output": the limit, and the buffer of 1 MiB a launch
        whose oldest lines are lost when it overflows.
    """
    emitter = current("print")
    text = values[0] if values and isinstance(values[0], str) else None
    shown = values[1:] if text is not None else values
    if text is None:
        text = " ".join(["{}"] * len(shown))
    elif text.count("{}") != len(shown) and "{}" not in text:
        text = " ".join([text, *["{}"] * len(shown)])
    if text.count("{}") != len(shown):
        raise TypeMismatchError(
            f"print: the format has {text.count('{}')} places for {len(shown)} values"
        )
    operands = [_printable(value) for value in shown]
    attributes = {"format": emitter.dialects.string(text), **_signs(emitter, operands)}
    emitter.op("tile.print", [operand.handle for operand in operands], (), attributes)


def _printable(value: object) -> Traced:
    operand = as_operand("print", value)
    if isinstance(operand, (Tile, Scalar)):
        return operand
    dtype = dtypes.bool_ if isinstance(operand, bool) else None
    if dtype is None:
        dtype = dtypes.int64 if is_number(operand) and isinstance(operand, int) else dtypes.float64
    return astype(operand, dtype)


def _signs(emitter: Emitter, values: Sequence[Traced | View]) -> dict[str, Attribute]:
    """Which of the values are unsigned, if any are: the IR's integers do not say."""
    unsigned = [value.dtype.is_integer and not value.dtype.is_signed for value in values]
    return {"is_unsigned": emitter.dialects.booleans(unsigned)} if any(unsigned) else {}


def assert_(condition: Operand, message: str = "assertion failed") -> None:
    """Stop the kernel with a message unless the condition holds in every element.

    On the CPU executor the launch raises an error that names the program and the element. On a GPU
    one thread of the program reports the message with file and line on the standard error stream;
    the launch fails, and the CUDA context cannot be used any more.

    Raises:
        TypeMismatchError: The condition is not boolean.
    """
    emitter = current("assert_")
    operand = as_operand("assert_", condition)
    if isinstance(operand, bool):
        operand = Scalar(emitter.constant(operand, dtypes.bool_, None), dtypes.bool_, weak=True)
    if not isinstance(operand, Traced) or not operand.dtype.is_bool:
        raise TypeMismatchError(f"assert_: expected a bool condition, found {describe(operand)}")
    emitter.op("tile.assert", (operand.handle,), (), {"message": emitter.dialects.string(message)})


def breakpoint() -> None:
    """Stop every program that comes here in Python's debugger, on the CPU executor.

    The debugger (``sys.breakpointhook``) stands at this line of the kernel. The local variables of
    the function are there: tiles as NumPy arrays, scalars as NumPy scalars, arguments as whole
    arrays, all read-only, and compile-time numbers and texts; ``program`` is the program's place in
    the grid. Inside an ``if`` on run-time values only the programs that take it stop.

    Raises:
        CompileError: The kernel is compiled for a GPU.
    """
    emitter = current("breakpoint")
    names: list[str] = []
    values: list[Traced | View] = []
    constants: dict[str, Attribute] = {}
    for name, value in _leaves("", sys._getframe(1).f_locals):  # pyright: ignore[reportPrivateUsage]
        if isinstance(value, (Traced, View)):
            if emitter.is_visible(value.handle):
                names.append(name)
                values.append(value)
        elif _is_literal(value):
            constants[name] = emitter.dialects.string(repr(value))
    string, array = emitter.dialects.string, emitter.dialects.array
    attributes = {
        "names": array([string(name) for name in names]),
        "constants": emitter.dialects.dictionary(constants),
        **_signs(emitter, values),
    }
    emitter.op("tile.breakpoint", [value.handle for value in values], (), attributes)


def _leaves(path: str, variables: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Variables, and what is in the tuples and lists among them under its path: ``pair.0``."""
    for key, value in variables.items():
        name = f"{path}{key}"
        if name.startswith(("__tilec", ".")):  # of the rewriting, of a comprehension
            continue
        if is_sequence(value):
            yield from _leaves(f"{name}.", dict(enumerate(value)))
        else:
            yield name, value


def _is_literal(value: object) -> bool:
    try:
        return value is None or (
            type(value) in (bool, int, float, str) and ast.literal_eval(repr(value)) == value
        )
    except ValueError:  # nan and inf have no literal
        return False
