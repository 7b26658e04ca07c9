"""Printing, and claims about values."""

# NumPy's stubs leave most of its functions partly unknown: no strict checks here.
# pyright: basic

from __future__ import annotations

import numpy as np

from tilec.execute.errors import ExecutionError, source_frames
from tilec.execute.frame import Frame
from tilec.execute.lower import KernelLowering
from tilec.execute.registry import Operation, Step, step


@step("tile.print")
def _print(op: Operation, kernel: KernelLowering) -> Step:
    pieces = op.attributes["format"].value.split("{}")
    slots = kernel.slots(op.operands)

    def run(frame: Frame) -> None:
        texts = [str(np.asarray(frame.values[slot])) for slot in slots]
        joined = "".join(map("".join, zip(texts, pieces[1:], strict=True)))
        print(f"{pieces[0]}{joined}", flush=True)

    return run


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
