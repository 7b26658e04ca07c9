"""Why a kernel misses an instruction, and what is nearest that has it: what the passes say of it.

Asked only about a contract that is broken: unless its decisions are at hand, the kernel is compiled
once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilec.compiler.machine_code import features_of_target
from tilec.compiler.target import Target
from tilec.diagnostics import Note
from tilec.jit.cache import Request
from tilec.jit.contract import Advice
from tilec.jit.job import CompileJob

if TYPE_CHECKING:
    from tilec.compiler.decisions import Decision

_ACCESSES = ("load", "store")
_CHOICES = {"cluster": "cluster", "tma_multicast": "cluster", "setmaxnreg": "roles"}
"""Features that follow from a choice for the whole kernel."""


@dataclass(frozen=True)
class Adviser:
    """Knows a kernel for which a contract is broken.

    Attributes:
        request: the kernel and its specialization.
        decisions: what the compiler decided, where that is known already.
    """

    request: Request
    decisions: Sequence[Decision] | None = None

    def __call__(self, lacking: Sequence[str]) -> Advice:
        """Return what stands in the way of features that the machine code lacks."""
        has = features_of_target(Target.parse(self.request.target))
        wanted = [name for name in lacking if name in has]
        found = list(_relevant(wanted, self._decisions() if wanted else ()))
        if {"mma", "wgmma"}.intersection(wanted) and not _of(self._decisions(), "product"):
            found.insert(0, (Note("it multiplies no tiles (tl.mma)"), ""))
        nearest = dict.fromkeys(text for _, text in found if text)
        return Advice(tuple(dict.fromkeys(note for note, _ in found)), "; ".join(nearest) or None)

    def _decisions(self) -> Sequence[Decision]:
        if self.decisions is None:
            job = CompileJob(self.request, explain=True)
            object.__setattr__(self, "decisions", job.build(job.trace()).decisions)
        return self.decisions or ()


def _of(decisions: Sequence[Decision], *subjects: str) -> list[Decision]:
    return [item for item in decisions if item.subject in subjects]


def _relevant(wanted: Sequence[str], decisions: Sequence[Decision]) -> Iterator[tuple[Note, str]]:
    """Return why each wanted feature is missing, and what is nearest."""
    products = [item for item in _of(decisions, "product") if item.missed]
    if {"wgmma", "tma", "tma_multicast"}.intersection(wanted):
        yield from map(_of_op, products)
    elif "mma" in wanted:
        yield from (_of_op(item) for item in products if item.outcome == "FMA")
    if "tma" in wanted and not products:
        yield from (_of_op(item) for item in _of(decisions, *_ACCESSES) if item.missed)
    subjects = {_CHOICES[name] for name in wanted if name in _CHOICES}
    for item in () if products else _of(decisions, *subjects):
        yield Note(f"{item.subject}: {item.outcome} ({item.reason})"), ""


def _of_op(item: Decision) -> tuple[Note, str]:
    array = item.facts.get("array")
    text = f"{item.subject} of {array}: {item.reason}" if array else item.reason
    return Note(text, item.frames[0].span if item.frames else None), item.nearest
