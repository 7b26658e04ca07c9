"""One kernel's body, turned once into a list of Python closures.

Every SSA value gets a slot in the frame; every op becomes one closure that reads its operands'
slots and writes its results'. Nothing of MLIR is left when this is done.
"""

from __future__ import annotations

from bdb import BdbQuit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilec.diagnostics import Frame as SourceFrame
from tilec.diagnostics import TilecError
from tilec.execute import types
from tilec.execute.errors import ExecutionError, source_frames
from tilec.execute.frame import Frame
from tilec.execute.registry import PURE_HANDLERS, STEP_HANDLERS, Operation, Step, Value


@dataclass(frozen=True)
class Block:
    """A straight run of steps.

    Attributes:
        arguments: slots of the block's arguments.
        steps: one closure an op, the terminator left out.
        results: slots of the terminator's operands.
        frames: one call chain a step, for errors.
    """

    arguments: tuple[int, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]
    frames: tuple[tuple[SourceFrame, ...], ...]

    def run(self, frame: Frame) -> None:
        """Run every step; an error of the executor itself gets the op's location."""
        done = 0
        try:
            for step in self.steps:
                step(frame)
                done += 1
        except (TilecError, BdbQuit):  # the latter: the author left the debugger
            raise
        except Exception as error:
            raise ExecutionError(
                f"the executor failed: {type(error).__name__}: {error}",
                frames=self.frames[done],
            ) from error

    def call(self, frame: Frame, *arguments: Value) -> tuple[Value, ...]:
        """Bind the arguments, run, and return the terminator's operands."""
        values = frame.values
        for slot, argument in zip(self.arguments, arguments, strict=True):
            values[slot] = argument
        self.run(frame)
        return tuple(values[slot] for slot in self.results)


class KernelLowering:
    """Numbers values and compiles blocks; a handler gets it to compile an op's regions."""

    def __init__(self) -> None:
        self._slots: dict[Any, int] = {}

    @property
    def slot_count(self) -> int:
        """Return how many slots a frame needs."""
        return len(self._slots)

    def slot(self, value: Any) -> int:
        """Return the slot of an SSA value."""
        return self._slots.setdefault(value, len(self._slots))

    def slots(self, values: Any) -> tuple[int, ...]:
        """Return the slots of several SSA values, in order."""
        return tuple(self.slot(value) for value in values)

    def block(self, block: Any) -> Block:
        """Compile a block."""
        arguments = self.slots(block.arguments)
        *body, terminator = (view.operation for view in block.operations)
        return Block(
            arguments,
            tuple(self._step(op) for op in body),
            self.slots(terminator.operands),
            tuple(source_frames(op.location) for op in body),
        )

    def region(self, op: Operation, number: int) -> Block:
        """Compile the only block of one of an op's regions."""
        (block,) = op.regions[number].blocks
        return self.block(block)

    def _step(self, op: Operation) -> Step:
        if handler := STEP_HANDLERS.get(op.name):
            return handler(op, self)
        if pure_handler := PURE_HANDLERS.get(op.name):
            return _pure_step(pure_handler(op), self.slots(op.operands), self.slots(op.results))
        raise ExecutionError(
            f"the CPU executor has no rule for {op.name}", frames=source_frames(op.location)
        )


def _pure_step(
    function: Callable[..., Value], operands: tuple[int, ...], results: tuple[int, ...]
) -> Step:
    """Wrap a function of operand values; the common arities avoid packing tuples."""
    if len(results) != 1:
        return _multi_result_step(function, operands, results)
    (result,) = results

    def unary(frame: Frame) -> None:
        values = frame.values
        values[result] = function(values[operands[0]])

    def binary(frame: Frame) -> None:
        values = frame.values
        values[result] = function(values[operands[0]], values[operands[1]])

    def variadic(frame: Frame) -> None:
        values = frame.values
        values[result] = function(*[values[operand] for operand in operands])

    return {1: unary, 2: binary}.get(len(operands), variadic)


def _multi_result_step(
    function: Callable[..., tuple[Value, ...]], operands: tuple[int, ...], results: tuple[int, ...]
) -> Step:
    def step(frame: Frame) -> None:
        values = frame.values
        outcome = function(*[values[operand] for operand in operands])
        for result, value in zip(results, outcome, strict=True):
            values[result] = value

    return step


def tile_type(value: Any) -> types.TileType:
    """Return the type of an SSA value that must be a scalar or a tile.

    Raises:
        ExecutionError: no NumPy value stands for the type.
    """
    parsed = types.parse(str(value.type))
    if not isinstance(parsed, types.TileType):
        raise ExecutionError(f"the CPU executor has no value of type {value.type}")
    return parsed
