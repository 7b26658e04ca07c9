"""One family of exceptions, and how they look: message, place, source with caret, calls, hint.

A leaf: everything in tilec may raise these, and this file imports nothing of tilec.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A stretch of source text.

    Lines and columns count from 1, the end column is exclusive, and 0 stands for unknown.
    """

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{_display_path(self.file)}:{self.line}"


@dataclass(frozen=True)
class Frame:
    """One level of a call chain: where in which function."""

    span: Span
    function: str


@dataclass(frozen=True)
class Note:
    """A second place that the message speaks of."""

    text: str
    span: Span | None = None


class TilecError(Exception):
    """Base of everything tilec raises on purpose.

    Attributes:
        message: One sentence, lower case, without a final period.
        frames: The call chain, innermost first; empty until the place is known.
        hint: What to do about it, or None.
        notes: Other places the message speaks of.
    """

    def __init__(
        self,
        message: str,
        *,
        frames: Sequence[Frame] = (),
        hint: str | None = None,
        notes: Sequence[Note] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.frames = tuple(frames)
        self.hint = hint
        self.notes = tuple(notes)

    def __str__(self) -> str:
        return "\n".join([self.message, *self._context()])

    def render(self) -> str:
        """The whole diagnostic, as a terminal shows it."""
        return f"error: {self}"

    def _context(self) -> list[str]:
        lines = _render_frames(self.frames)
        for note in self.notes:
            place = f" ({note.span})" if note.span else ""
            lines.append(f"   = note: {note.text}{place}")
        if self.hint:
            lines.append(f"   = hint: {self.hint}")
        return lines


class TraceError(TilecError):
    """The kernel's Python code does something that cannot be traced."""


class ControlFlowError(TraceError):
    """Python needs to know a value that only exists when the kernel runs."""


class TypeMismatchError(TraceError):
    """Dtypes, shapes or ranks do not fit together."""


class LaunchError(TilecError):
    """The arguments or the configuration of a launch are refused; nothing was launched."""


class DriverError(TilecError):
    """The CUDA driver is missing, too old, or refused a call."""


class CompileError(TilecError):
    """The compiler or the assembler refuses a kernel."""


class CompilerFault(CompileError):
    """The compiler itself failed: a fault of tilec, contained.

    Attributes:
        reproducer: Path of a file from which the failure can be repeated, or None.
    """

    def __init__(
        self, message: str, reproducer: str | None = None, *, frames: Sequence[Frame] = ()
    ) -> None:
        hint = f"please report this with {reproducer}" if reproducer else "please report this"
        super().__init__(message, frames=frames, hint=hint)
        self.reproducer = reproducer


class TilecWarning(UserWarning):
    """Worth saying, not worth stopping."""


class HintWarning(TilecWarning):
    """The compiler or the target cannot honour a hint of the author's; says which and why."""


class CacheWarning(TilecWarning):
    """The disk cache cannot be used; kernels are compiled without it."""


def warn_of_hints(texts: Iterable[str]) -> None:
    """Warn of hints that were not honoured when a kernel was compiled, now or earlier."""
    for text in texts:
        warnings.warn(text, HintWarning, stacklevel=4)


# Authors know them by their public names, and see those in a traceback.
for _exception in (
    TilecError,
    TraceError,
    ControlFlowError,
    TypeMismatchError,
    LaunchError,
    DriverError,
    CompileError,
    CompilerFault,
    TilecWarning,
    HintWarning,
    CacheWarning,
):
    _exception.__module__ = "tilec"


def _display_path(path: str) -> str:
    """``path`` as a reader would write it: relative when it lies below the working directory."""
    try:
        relative = os.path.relpath(path)
    except (ValueError, OSError):  # another drive, or the working directory is gone
        return path
    return path if relative.startswith("..") else relative


def _render_frames(frames: Sequence[Frame]) -> list[str]:
    if not frames:
        return []
    innermost = frames[0]
    place = f"  --> {innermost.span}"
    if innermost.span.column:
        place += f":{innermost.span.column}"
    place += f", in {innermost.function}"
    if len(frames) > 1:
        place += f" (called from {', '.join(str(frame.span) for frame in frames[1:])})"
    return [place, *_render_source(innermost.span)]


def _render_source(span: Span) -> list[str]:
    import linecache  # slow to import, and not needed until something goes wrong

    source = linecache.getline(span.file, span.line).rstrip()
    if not source:
        return []
    lines = [f"   | {source}"]
    if span.column:
        # A tab of the source is repeated below it, so that the caret stays in place.
        end = span.end_column if span.end_line == span.line else len(source) + 1
        width = max(1, min(end, len(source) + 1) - span.column)
        indent = "".join("\t" if char == "\t" else " " for char in source[: span.column - 1])
        lines.append(f"   | {indent}{'^' * width}")
    return lines
