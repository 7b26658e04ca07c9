"""Shared memory: who is at which bytes, and what they hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from warp_roles.faults import Fault
from warp_roles.terms import Term

ELEMENT_BYTES = {"f8E4M3FN": 1, "f8E5M2": 1, "bf16": 2}
TILE_ALIGNMENT = 1024


def element_bytes(element: str) -> int:
    return ELEMENT_BYTES.get(element) or -(-int(element.lstrip("fi")) // 8)


@dataclass(frozen=True)
class Buffer:
    """A shared-memory tile, or a ring of them.

    Attributes:
        fill: the fill of the queue that belongs there, for a stage of a ring.
    """

    start: int
    shape: tuple[int, ...]
    order: tuple[int, ...]
    element: str
    fill: int | None = None

    @classmethod
    def of(cls, start: int, type_text: str) -> Buffer:
        parts = re.match(
            r"!tilegpu\.smem<([\dx]+)x(\w+), #tilegpu\.shared<order = \[([\d, ]+)\]", type_text
        )
        assert parts, type_text
        shape = tuple(map(int, parts[1].split("x")))
        return cls(start, shape, tuple(map(int, parts[3].split(", "))), parts[2])

    @property
    def bytes(self) -> int:
        count = element_bytes(self.element)
        for extent in self.shape:
            count *= extent
        return count

    @property
    def end(self) -> int:
        return self.start + self.bytes

    def slot(self, stage: Any) -> Buffer:
        """A stage of this ring; `stage` is what an acquire or a wait gave."""
        shape, order = self.shape[1:], tuple(dim - 1 for dim in self.order[:-1])
        slot = replace(self, shape=shape, order=order, fill=stage.fill)
        return replace(slot, start=self.start + stage * slot.bytes)


@dataclass
class Content:
    """What bytes hold.

    Attributes:
        missing: parts of a tile that have not arrived.
        writers: warps of the program that wrote a part, with their number of barriers before.
        readers: the same for warps that read.
    """

    term: Term
    fill: int | None = None
    fenced: bool = True
    turn: int = 0
    missing: set[int] = field(default_factory=set)
    writers: dict[int, int] = field(default_factory=dict)
    readers: dict[int, int] = field(default_factory=dict)


@dataclass(eq=False)
class Access:
    """Somebody at work between two times."""

    start: int
    end: int
    writes: bool
    who: str


class Shared:
    """The shared memory of a CTA."""

    def __init__(self) -> None:
        self.contents: dict[tuple[int, int], Content] = {}
        self.accesses: list[Access] = []

    def begin(self, start: int, end: int, who: str, *, writes: bool) -> Access:
        for other in self.accesses:
            if other.start < end and start < other.end and (writes or other.writes):
                kind = "staging" if "bulk store" in (other.who, who) else "overwrite"
                verb = "writes" if writes else "reads"
                busy = "writes" if other.writes else "reads"
                raise Fault(kind, f"{who} {verb} bytes {start}:{end} while {other.who} {busy} them")
        access = Access(start, end, writes, who)
        self.accesses.append(access)
        return access

    def displace(self, start: int, end: int, fill: int | None = None) -> None:
        """Forget what the bytes held, unless it is of this fill."""
        for span in [s for s in self.contents if s[0] < end and start < s[1]]:
            if fill is None or self.contents[span].fill != fill:
                del self.contents[span]

    def finish(self, access: Access) -> None:
        self.accesses.remove(access)

    def fill(self, buffer: Buffer, content: Content) -> None:
        self.contents[buffer.start, buffer.end] = content

    def fill_part(self, buffer: Buffer, term: Term, part: int, parts: int) -> None:
        """A part of a tile has arrived."""
        content = self.contents.get((buffer.start, buffer.end))
        if content is None or content.fill != buffer.fill:
            content = Content(term, fill=buffer.fill, missing=set(range(parts)))
            self.fill(buffer, content)
        if content.term is not term:
            raise Fault("result", f"parts of {term} and {content.term} come together")
        content.missing.discard(part)

    def read(self, buffer: Buffer, who: str) -> Content:
        """What a buffer holds, if that is what belongs there."""
        content = self.contents.get((buffer.start, buffer.end))
        if content is None:
            raise Fault(
                "stale", f"{who} reads bytes {buffer.start}:{buffer.end}, which hold no tile"
            )
        if content.fill != buffer.fill:
            raise Fault("stale", f"{who} reads fill {content.fill}, expected fill {buffer.fill}")
        return content

    def write(self, buffer: Buffer, content: Content, warp: int, epoch: int) -> None:
        """A warp's part of a tile that all warps of its program write."""
        who = f"warp {warp}"
        self.finish(self.begin(buffer.start, buffer.end, who, writes=True))
        old = self.contents.get((buffer.start, buffer.end))
        self.displace(buffer.start, buffer.end)
        if old is not None and old.turn == content.turn and old.term is content.term:
            content = old
        elif old is not None:
            for other, before in (*old.writers.items(), *old.readers.items()):
                if other != warp and before >= epoch:
                    raise Fault("unordered", f"{who} overwrites what warp {other} still uses")
        content.writers[warp] = epoch
        self.fill(buffer, content)

    def read_parts(self, buffer: Buffer, warp: int, epoch: int, warps: int) -> Content:
        """A whole tile, which the warps of the program wrote."""
        content = self.read(buffer, f"warp {warp}")
        if content.writers:
            late = [other for other, at in content.writers.items() if other != warp and at >= epoch]
            if late or len(content.writers) != warps:
                raise Fault("unordered", f"warp {warp} reads what other warps are about to write")
        content.readers[warp] = epoch
        return content
