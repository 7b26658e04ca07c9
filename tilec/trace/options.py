"""What the author asks of the compiler for one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

HINTS = ("num_warps", "num_stages", "num_ctas", "occupancy")
"""Names of what an author may hint at; a hint that is not honoured is a warning."""


@dataclass(frozen=True)
class KernelOptions:
    """Hints and contracts of a kernel; None leaves the choice to the compiler.

    Attributes:
        num_warps: Warps of a CTA that compute, 12 or a power of two; one that only fetches comes
            on top.
        num_stages: Slots of the pipelines that feed loops.
        num_ctas: CTAs of a cluster.
        occupancy: CTAs that a multiprocessor holds at a time.
        require: Features that the machine code must use, by name.
        max_spills: Bytes a thread may spill; None for any number.
        by_target: Hints for one target each: its name, the hint's, the value.
    """

    num_warps: int | None = None
    num_stages: int | None = None
    num_ctas: int | None = None
    occupancy: int | None = None
    require: tuple[str, ...] = ()
    max_spills: int | None = None
    by_target: tuple[tuple[str, str, int], ...] = ()

    def of_target(self, target: str) -> KernelOptions:
        """Return the options with the hints that hold for a target.

        Example:
            >>> KernelOptions(by_target=(("sm_80", "num_warps", 4),)).of_target("sm_80").num_warps
            4
        """
        hints = {hint: value for name, hint, value in self.by_target if name == target}
        return replace(self, by_target=(), **hints)

    def with_hints(self, hints: Mapping[str, int | None]) -> KernelOptions:
        """Return the options with other hints, for all targets."""
        rest = tuple(item for item in self.by_target if item[1] not in hints)
        return replace(self, by_target=rest, **hints)
