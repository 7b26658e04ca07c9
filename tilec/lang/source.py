"""Where in the author's source a frame stands; the same answer for op locations and for errors.

Frames of tilec itself are skipped. A *fragment* (a comprehension, or a thunk that the control-flow
rewriting made of an operand) is part of the function around it and shows up as that function.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType, TracebackType
from typing import TypeAlias

from tilec.diagnostics import Frame, Span

THUNK_PARAMETER = "__tilec_thunk__"
"""Name of the parameter by which a thunk of the control-flow rewriting is told."""

_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INTERNAL = (
    *(os.path.join(_PACKAGE, room) + os.sep for room in ("lang", "trace", "jit")),
    os.path.join(_PACKAGE, "__init__.py"),
)

_STANDARD_LIBRARY = os.path.dirname(os.path.realpath(os.__file__)) + os.sep

_Positions: TypeAlias = tuple[int | None, int | None, int | None, int | None]

# Python 3.10 knows no columns: the tracer notes here what to mark of each statement it reads.
_line_spans: dict[str, dict[int, Span]] = {}


@dataclass(frozen=True)
class Position:
    """An instruction of a function: what identifies a place cheaply while tracing."""

    code: CodeType
    instruction: int  # f_lasti, a byte offset
    line: int


@cache
def is_internal(filename: str) -> bool:
    """Whether a file is tilec's own or Python's, which authors never see in a call chain."""
    if filename.startswith((*_INTERNAL, "<frozen ")):
        return True
    # Installed packages may lie below the standard library; kernels can be in one of them.
    path = os.path.realpath(filename)
    packages = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
    return path.startswith(_STANDARD_LIBRARY) and not any(name in path for name in packages)


def register_line_spans(spans: Iterable[Span]) -> None:
    """Remember statements' spans for interpreters whose code objects know lines only."""
    for span in spans:
        _line_spans.setdefault(span.file, {}).setdefault(span.line, span)


def positions_of_stack(frame: FrameType | None, stop: CodeType) -> list[Position]:
    """The author's call chain at ``frame``, innermost first, up to the frame that runs ``stop``.

    Empty if no frame does: then what lies on the stack is the host program's.
    """
    positions: list[Position] = []
    while frame is not None and frame.f_code is not stop:
        code = frame.f_code
        if not is_internal(code.co_filename):
            positions.append(Position(code, frame.f_lasti, frame.f_lineno))
        frame = frame.f_back
    return [] if frame is None else list(_without_fragments(positions))


def positions_of_traceback(traceback: TracebackType | None) -> list[Position]:
    """The author's call chain at which an exception was raised, innermost first."""
    positions: list[Position] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_internal(code.co_filename):
            positions.append(Position(code, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    return list(_without_fragments(reversed(positions)))


def _without_fragments(positions: Iterable[Position]) -> Iterator[Position]:
    inside_fragment = False
    for position in positions:
        if not inside_fragment:
            yield position
        inside_fragment = is_fragment(position.code)


def is_fragment(code: CodeType) -> bool:
    """Whether ``code`` is a part of the function around it rather than a function of its own."""
    return code.co_name in _COMPREHENSIONS or code.co_varnames[:1] == (THUNK_PARAMETER,)


def frame_of(position: Position, function: str | None = None) -> Frame:
    """The diagnostic frame of a position."""
    return Frame(span_of(position), function or position.code.co_name)


def span_of(position: Position) -> Span:
    """The source text of the instruction at ``position``."""
    code, line = position.code, position.line
    positions: Callable[[], Iterator[_Positions]] | None = getattr(code, "co_positions", None)
    if positions is None:
        known = _line_spans.get(code.co_filename, {}).get(line)
        return known or Span(code.co_filename, line)
    found = next(itertools.islice(positions(), position.instruction // 2, None), None)
    return _span_of_instruction(code, found or (None, None, None, None), line)


def _span_of_instruction(code: CodeType, found: _Positions, line: int) -> Span:
    start, end, column, end_column = found
    if start is None or end is None or column is None or end_column is None:
        return Span(code.co_filename, start or line)
    return Span(
        code.co_filename,
        start,
        character_column(code.co_filename, start, column),
        end,
        character_column(code.co_filename, end, end_column),
    )


def character_column(filename: str, line: int, offset: int) -> int:
    """The column, from 1, of a UTF-8 byte offset: what the parser counts and editors do not."""
    import linecache  # slow to import, and not needed for a warm start

    text = linecache.getline(filename, line)
    if not text or text.isascii():
        return offset + 1
    return len(text.encode()[:offset].decode(errors="replace")) + 1
