"""What an assembler says about a kernel, read from its log.

nvJitLink and ptxas share one format. Both are asked for their verbose log, so that registers,
spills and the performance notes (C75xx) of every compilation are known.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'")
_FRAME = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers(?:, used (?P<barriers>\d+) barriers)?")
_SHARED = re.compile(r"(?P<bytes>\d+) bytes smem")
_NOTE = re.compile(r"\((?P<code>C75\d\d)\)\s*(?P<text>.+)")
_ERROR = re.compile(
    r"^ptxas (?:.*?, line (?P<line>\d+); )?(?:error|fatal)\s*: (?P<text>.+)$"
    r"|^error\s*: (?P<plain>.+)$"
)
_AFTERMATH = "Ptx assembly aborted due to errors"


@dataclass(frozen=True)
class Resources:
    """What the machine code of one kernel uses.

    Units: bytes and registers are counted per thread, shared memory per block.
    """

    registers: int
    barriers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    shared_static_bytes: int
    notes: tuple[str, ...] = ()
    """The assembler's performance notes, for example ``C7510: Potential Performance Loss: …``."""

    @property
    def spill_bytes(self) -> int:
        """Return the bytes of the larger direction of spilling."""
        return max(self.spill_store_bytes, self.spill_load_bytes)

    def to_json(self) -> dict[str, object]:
        """Return the figures under their names."""
        return {**asdict(self), "notes": list(self.notes)}


@dataclass(frozen=True)
class AssemblerError:
    """One complaint: the line of the PTX text it is about, where there is one, and its text."""

    text: str
    ptx_line: int | None = None


def read_resources(log: str, symbol: str) -> Resources | None:
    """Return what the entry ``symbol`` uses, or None when the log does not tell."""
    section = _section_of(log, symbol)
    used = _USED.search(section)
    if used is None:
        return None
    frame = _FRAME.search(section)
    shared = _SHARED.search(section, used.end())
    return Resources(
        registers=int(used["registers"]),
        barriers=int(used["barriers"] or 0),
        stack_bytes=int(frame["stack"]) if frame else 0,
        spill_store_bytes=int(frame["stores"]) if frame else 0,
        spill_load_bytes=int(frame["loads"]) if frame else 0,
        shared_static_bytes=int(shared["bytes"]) if shared else 0,
        notes=read_notes(log),
    )


def read_notes(log: str) -> tuple[str, ...]:
    """Return the performance notes of a log, each once, in order."""
    notes = (f"{m['code']}: {m['text'].strip()}" for m in _NOTE.finditer(log))
    return tuple(dict.fromkeys(notes))


def read_errors(log: str) -> tuple[AssemblerError, ...]:
    """Return the errors of a log in order."""
    matches = filter(None, (_ERROR.match(line.strip()) for line in log.splitlines()))
    errors = (
        AssemblerError(
            text=(m["text"] or m["plain"]).strip(),
            ptx_line=int(m["line"]) if m["line"] else None,
        )
        for m in matches
    )
    return tuple(error for error in errors if error.text != _AFTERMATH)


def source_of(ptx: str, ptx_line: int) -> tuple[str, int] | None:
    """Return file and line of the Python source that a line of PTX came from.

    The nearest ``.loc`` above it in the same function decides.
    """
    lines = ptx.splitlines()
    for text in reversed(lines[:ptx_line]):
        located = re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", text)
        if located is not None:
            return _file_of(ptx, located[1], int(located[2]))
        if re.search(r"\.(entry|func)\b", text):
            return None
    return None


def _file_of(ptx: str, number: str, line: int) -> tuple[str, int] | None:
    declared = re.search(rf'^\s*\.file\s+{number}\s+"([^"]*)"', ptx, re.MULTILINE)
    return (declared[1], line) if declared and line > 0 else None


def _section_of(log: str, symbol: str) -> str:
    """Return the lines about one entry: from its header to the next."""
    lines: list[str] = []
    inside = False
    for line in log.splitlines():
        entry = _ENTRY.search(line)
        if entry is not None:
            inside = entry["name"] == symbol
        elif inside:
            lines.append(line)
    return "\n".join(lines)
