"""What the compiler decided for a kernel, op by op, and why: the remarks of its passes.

The passes are C++ and tell of themselves (dialects/TileGPU/IR/Decisions.h); nothing here knows why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilec.diagnostics import Frame

OPS = ("product", "load", "store")
"""Subjects that are ops of the kernel; all others are choices for the kernel as a whole."""


@dataclass(frozen=True)
class Decision:
    """One choice.

    Attributes:
        subject: ``"product"``, ``"load"`` or ``"store"``, or what was chosen for the whole kernel:
            ``"roles"``, ``"cluster"``, ``"raster"``, ``"split"``, ``"stages"``,
            ``"shared memory"``.
        outcome: what became of it, such as ``"wgmma"``.
        missed: whether something better was in vain.
        reason: why; may be empty.
        nearest: what is nearest that would do better; may be empty.
        facts: more about it, such as the array and the shape of its tile.
        frames: where the op is in the source, innermost first; empty where that is not known.
        count: how many ops at that place became this.
    """

    subject: str
    outcome: str
    missed: bool
    reason: str
    nearest: str
    facts: Mapping[str, str]
    frames: tuple[Frame, ...]
    count: int = 1


def decisions_of(remarks: Iterable[tuple[Mapping[str, Any], Iterable[Frame]]]) -> list[Decision]:
    """Return decisions in the order of the source, ops of one place and outcome as one.

    Args:
        remarks: as the compiler gives them, and where they are.
    """
    found = [_decision(remark, tuple(frames)) for remark, frames in remarks]
    counts = Counter(_key(item) for item in found)
    unique = {_key(item): item for item in found}
    counted = (replace(item, count=counts[key]) for key, item in unique.items())
    return sorted(counted, key=_place)


def _decision(remark: Mapping[str, Any], frames: tuple[Frame, ...]) -> Decision:
    facts = dict(remark["facts"])
    return Decision(
        subject=remark["subject"],
        outcome=facts.pop("Remark"),
        missed=remark["missed"],
        reason=facts.pop("Reason", ""),
        nearest=facts.pop("Suggestion", ""),
        facts=facts,
        frames=frames,
    )


def _key(item: Decision) -> tuple[object, ...]:
    return (*(v for k, v in vars(item).items() if k != "facts"), *sorted(item.facts.items()))


def _place(item: Decision) -> tuple[int, int, int]:
    rank = OPS.index(item.subject) if item.subject in OPS else -1
    span = item.frames[0].span if item.frames else None
    return (rank, span.line, span.column) if span and rank >= 0 else (rank, 0, 0)
