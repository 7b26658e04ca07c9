"""What the compiler decided, as text: the kernel's choices, then op by op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilec.compiler.assembler_log import Resources
from tilec.compiler.decisions import OPS, Decision

_TITLES = {"product": "products", "load": "loads", "store": "stores"}


def decision_lines(decisions: Sequence[Decision]) -> Iterator[str]:
    """Return the lines that show decisions, in the order of the source."""
    choices = [item for item in decisions if item.subject not in OPS]
    width = max((len(item.subject) for item in choices), default=0)
    for item in choices:
        reason = f" ({item.reason})" if item.reason else ""
        yield f"  {item.subject.ljust(width)}  {item.outcome}{reason}"
    for subject in OPS:
        found = [item for item in decisions if item.subject == subject]
        if found:
            yield _TITLES[subject]
        for item in found:
            yield from _op_lines(item)


def _op_lines(item: Decision) -> Iterator[str]:
    facts = dict(item.facts)
    named = [facts.pop(name) for name in ("array", "elements", "shape") if facts.get(name)]
    more = [f"{name} {value}" for name, value in facts.items() if value]
    place = f"{item.frames[0].span}: " if item.frames else ""
    times = f" (x{item.count})" if item.count > 1 else ""
    yield f"  {place}{' '.join(named)}{times}: {', '.join([item.outcome, *more])}"
    if item.reason:
        yield f"    why: {item.reason}"
    if item.nearest:
        yield f"    nearest: {item.nearest}"


def resource_lines(resources: Resources | None) -> Iterator[str]:
    """Return the lines that show what the assembler says of the kernel; none without its report."""
    if resources is None:
        return
    spilled = max(resources.spill_store_bytes, resources.spill_load_bytes)
    yield f"registers\n  {resources.registers} a thread, {spilled} bytes spilled"
    yield from (f"  {note}" for note in resources.notes)
