"""Loops and branches (``scf``)."""

from __future__ import annotations

from tilec.execute.frame import Frame
from tilec.execute.lower import KernelLowering, tile_type
from tilec.execute.ops.integer import unsigned
from tilec.execute.registry import Operation, Step, Value, step


def _assign(frame: Frame, slots: tuple[int, ...], values: tuple[Value, ...]) -> None:
    for slot, value in zip(slots, values, strict=True):
        frame.values[slot] = value


@step("scf.for")
def _for(op: Operation, kernel: KernelLowering) -> Step:
    low, high, stride, *initial = kernel.slots(op.operands)
    results = kernel.slots(op.results)
    body = kernel.region(op, 0)
    counter = tile_type(op.operands[0]).dtype.type
    is_unsigned = "unsignedCmp" in op.attributes

    def run(frame: Frame) -> None:
        bounds = [frame.values[slot] for slot in (low, high, stride)]
        if is_unsigned:
            bounds = [unsigned(bound) for bound in bounds]
        carried = tuple(frame.values[slot] for slot in initial)
        for number in range(*map(int, bounds)):
            carried = body.call(frame, counter(number), *carried)
        _assign(frame, results, carried)

    return run


@step("scf.while")
def _while(op: Operation, kernel: KernelLowering) -> Step:
    initial, results = kernel.slots(op.operands), kernel.slots(op.results)
    before, after = kernel.region(op, 0), kernel.region(op, 1)

    def run(frame: Frame) -> None:
        carried = tuple(frame.values[slot] for slot in initial)
        while True:
            goes_on, *forwarded = before.call(frame, *carried)
            if not goes_on:
                break
            carried = after.call(frame, *forwarded)
        _assign(frame, results, tuple(forwarded))

    return run


@step("scf.if")
def _if(op: Operation, kernel: KernelLowering) -> Step:
    condition, results = kernel.slot(op.operands[0]), kernel.slots(op.results)
    then = kernel.region(op, 0)
    has_else = len(op.regions[1].blocks) > 0
    otherwise = kernel.region(op, 1) if has_else else None

    def run(frame: Frame) -> None:
        if frame.values[condition]:
            _assign(frame, results, then.call(frame))
        elif otherwise is not None:
            _assign(frame, results, otherwise.call(frame))

    return run


@step("scf.execute_region")
def _execute_region(op: Operation, kernel: KernelLowering) -> Step:
    results, body = kernel.slots(op.results), kernel.region(op, 0)

    def run(frame: Frame) -> None:
        _assign(frame, results, body.call(frame))

    return run


@step("scf.index_switch")
def _index_switch(op: Operation, kernel: KernelLowering) -> Step:
    selector, results = kernel.slot(op.operands[0]), kernel.slots(op.results)
    default = kernel.region(op, 0)
    labels = tuple(op.attributes["cases"])
    cases = {label: kernel.region(op, n) for n, label in enumerate(labels, start=1)}

    def run(frame: Frame) -> None:
        chosen = cases.get(int(frame.values[selector]), default)
        _assign(frame, results, chosen.call(frame))

    return run
