"""Printing, stopping, and claims about values."""

# NumPy's stubs leave most of its functions partly unknown: no strict checks here.
# pyright: basic

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from tilec.execute import debugger
from tilec.execute.errors import ExecutionError, source_frames
from tilec.execute.frame import Frame
from tilec.execute.lower import KernelLowering
from tilec.execute.numerics import Array
from tilec.execute.ops.integer import unsigned
from tilec.execute.registry import Operation, Step, step
from tilec.execute.views import View


@step("tile.print")
def _print(op: Operation, kernel: KernelLowering) -> Step:
    pieces = op.attributes["format"].value.split("{}")
    shown = _readers(op, kernel)

    def run(frame: Frame) -> None:
        texts = [str(read(frame)) for read in shown]
        joined = "".join(map("".join, zip(texts, pieces[1:], strict=True)))
        print(f"{frame.program}: {pieces[0]}{joined}", flush=True)

    return run


def _readers(op: Operation, kernel: KernelLowering) -> list[Callable[[Frame], Array]]:
    """One function an operand: its value in a frame, as its author knows it."""
    signs = op.attributes["is_unsigned"] if "is_unsigned" in op.attributes else None
    return [
        _reader(slot, signs is not None and signs[number])
        for number, slot in enumerate(kernel.slots(op.operands))
    ]


def _reader(slot: int, is_unsigned: bool) -> Callable[[Frame], Array]:
    def read(frame: Frame) -> Array:
        value = frame.values[slot]
        array = value.array if isinstance(value, View) else np.asarray(value)
        return unsigned(array) if is_unsigned else array

    return read


@step("tile.assert")
def _assert(op: Operation, kernel: KernelLowering) -> Step:
    condition, message = kernel.slot(op.operands[0]), op.attributes["message"].value
    frames = source_frames(op.location)

    def run(frame: Frame) -> None:
        holds = np.asarray(frame.values[condition])
        if holds.all():
            return
        spot = tuple(int(i) for i in np.unravel_index(int(np.argmin(holds)), holds.shape))
        place = f" at element {spot}" if holds.ndim else ""
        raise ExecutionError(
            f"assertion failed in {frame.program}{place}: {message}", frames=frames
        )

    return run


@step("tile.assume")
def _assume(op: Operation, kernel: KernelLowering) -> Step:
    condition = kernel.slot(op.operands[0])
    frames = source_frames(op.location)

    def run(frame: Frame) -> None:
        if not frame.values[condition]:
            raise ExecutionError(f"an assumption does not hold in {frame.program}", frames=frames)

    return run


@step("tile.breakpoint")
def _breakpoint(op: Operation, kernel: KernelLowering) -> Step:
    names = [name.value for name in op.attributes["names"]]
    shown = _readers(op, kernel)
    constants = {
        entry.name: ast.literal_eval(entry.attr.value) for entry in op.attributes["constants"]
    }
    frames = source_frames(op.location)
    stop = debugger.stop_at(frames[0] if frames else None)

    def run(frame: Frame) -> None:
        values = {name: read(frame) for name, read in zip(names, shown, strict=True)}
        stop(frame.coordinates, {**constants, **values})

    return run
