"""What the author asks of the compiler for one kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelOptions:
    """Hints and contracts of a kernel; None leaves the choice to the compiler.

    Attributes:
        num_warps: Warps a program runs on.
        num_stages: Slots of the pipelines that feed loops.
        require: Features that the machine code must use, by name.
        max_spills: Bytes a thread may spill; None for any number.
    """

    num_warps: int | None = None
    num_stages: int | None = None
    require: tuple[str, ...] = ()
    max_spills: int | None = None
