"""What an author asks of the compiler, for one kernel."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.diagnostics import LaunchError


@dataclass(frozen=True)
class KernelOptions:
    """The hints of ``@tl.kernel(...)``; None leaves the choice to the compiler.

    Attributes:
        num_warps: warps of a program, a power of two from 1 to 32.
        num_stages: buffers of a software pipeline, 1 to 16.

    Raises:
        LaunchError: a hint is out of range.
    """

    num_warps: int | None = None
    num_stages: int | None = None

    def __post_init__(self) -> None:
        if self.num_warps not in (None, 1, 2, 4, 8, 16, 32):
            raise LaunchError(
                f"num_warps must be a power of two from 1 to 32, found {self.num_warps!r}"
            )
        stages = self.num_stages
        if stages is not None and (type(stages) is not int or not 1 <= stages <= 16):
            raise LaunchError(f"num_stages must be an integer from 1 to 16, found {stages!r}")
