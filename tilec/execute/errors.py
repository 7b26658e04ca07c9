"""What can go wrong while a kernel runs on the CPU, and where in the source."""

from __future__ import annotations

from typing import Any

from tilec.diagnostics import Frame as SourceFrame
from tilec.diagnostics import Span, TilecError


class ExecutionError(TilecError):
    """A program stopped on the CPU executor, or its module cannot run there."""


class SanitizerError(ExecutionError):
    """The sanitizer found a race, an access out of range, or a read of nothing."""


def source_frames(location: Any, function: str = "kernel") -> tuple[SourceFrame, ...]:
    """Return the call chain of an MLIR location, innermost first.

    Args:
        location: ``callsite(callee at caller)`` for a helper; a name stands for the function.
        function: the function's name where the location has none.
    """
    if location.is_a_callsite():
        return source_frames(location.callee, function) + source_frames(location.caller, function)
    if location.is_a_name():
        return source_frames(location.child_loc, location.name_str)
    if location.is_a_fused():
        chains = (source_frames(part, function) for part in location.locations)
        return next((chain for chain in chains if chain), ())
    if not location.is_a_file():
        return ()
    span = Span(
        location.filename,
        location.start_line,
        location.start_col,
        location.end_line,
        location.end_col,
    )
    return (SourceFrame(span, function),)
