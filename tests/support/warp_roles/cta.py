"""A CTA, its agents, and the cluster it is part of."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from warp_roles.barriers import Queue, Rendezvous, Turns
from warp_roles.clock import Clock, Condition
from warp_roles.faults import Fault
from warp_roles.memory import Shared
from warp_roles.products import WARPS, BulkStores, Warpgroup
from warp_roles.terms import Term


@dataclass
class Workspace:
    """What the CTAs of a tile leave in global memory.

    Attributes:
        parts: of the tile, by CTA and warp.
        arrivals: CTAs that have left theirs.
    """

    parts: dict[tuple[int, int], list[Term]] = field(default_factory=dict)
    arrivals: int = 0


@dataclass
class Frame:
    """An agent: a warp of a program, or the producer's thread, and what it has computed.

    Attributes:
        values: of the SSA values, by their numbers.
        program: of the CTA's; None for the producer.
        warp: of the program's.
        barriers: how often it has met the other warps of its program.
        issued: products of its warpgroup that it issued.
        known: how many of them it knows to be complete.
        turns: how often it has run an op, by the number of its result.
    """

    cta: Cta
    values: list[Any]
    program: int | None
    warp: int = 0
    barriers: int = 0
    issued: int = 0
    known: int = 0
    turns: dict[int, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        role = "producer" if self.program is None else f"program {self.program} warp {self.warp}"
        return f"CTA {self.cta.number} {role}"

    @property
    def warpgroup(self) -> int:
        return self.program * (self.cta.warps // WARPS) + self.warp // WARPS

    @property
    def speaks(self) -> bool:
        """True for the warp whose first thread arrives at barriers for its warpgroup."""
        return self.warp % WARPS == 0

    def meet(self) -> Condition:
        """Arrive at the barrier of the program."""
        self.barriers += 1
        return self.cta.program_barriers[self.program].come()


class Cta:
    """A CTA's memory and barriers.

    Attributes:
        peers: all CTAs of its cluster, itself included.
        everybody: where all their threads that have not ended meet.
        workspace: of the tile that it shares with others which are no cluster.
        tile_rank: its number among those.
        is_last: whether it came there last; None before it does.
        stores: by place, what was stored there piece by piece, and how many pieces there must be.
    """

    def __init__(self, kernel: Any, clock: Clock, number: int, count: int):
        self.number, self.count, self.clock = number, count, clock
        self.warps, self.programs = kernel.num_warps, kernel.programs
        self.peers: list[Cta] = [self]
        self.everybody = Rendezvous(0)
        self.workspace, self.tile_rank = Workspace(), 0
        self.is_last: bool | None = None
        self.shared = Shared()
        self.queues: dict[int, Queue] = {}
        self.turns: dict[int, Turns] = {}
        self.stores: dict[Any, dict[Any, tuple[Term, int]]] = {}
        self.copy_duration, multiply_duration = clock.some_duration(2), clock.some_duration(2)
        self.program_barriers = [Rendezvous(self.warps) for _ in range(self.programs)]
        groups = self.programs * self.warps // WARPS
        self.warpgroups = [
            Warpgroup(
                self.shared, lambda act: clock.later(act, multiply_duration), f"group {group}"
            )
            for group in range(groups)
        ]
        self.warpgroup_barriers = [Rendezvous(WARPS) for _ in range(groups)]
        self.bulk_stores = [BulkStores(self.shared) for _ in range(groups)]

    @property
    def rank(self) -> int:
        """Its number in the cluster."""
        return self.peers.index(self)

    def start(self, kernel: Any, arguments: dict[str, Any] | None) -> None:
        """Start the producer and every warp."""
        frames = [Frame(self, kernel.frame_values(arguments), None)]
        for program, warp in itertools.product(range(self.programs), range(self.warps)):
            frames.append(Frame(self, kernel.frame_values(arguments), program, warp))
        durations = {frame.program: self.clock.some_duration(1.5) for frame in frames}
        for frame in frames:
            duration = durations[frame.program] * self.clock.some_duration(0.7)
            self.clock.start(frame.name, kernel.run(frame), duration)

    def copy(self, act: Callable[[], None]) -> None:
        """Have the copy engine do something when it comes to it."""
        self.clock.later(act, self.copy_duration)

    def store(self, place: Any, piece: Any, pieces: int, term: Term) -> None:
        """Remember one of the pieces that a tile is stored in."""
        stored = self.stores.setdefault(place, {})
        if piece in stored:
            raise Fault("result", f"piece {piece} of {place} is stored twice")
        stored[piece] = term, pieces

    def finish(self) -> None:
        """Find what is left of the work.

        Raises:
            Fault: a stage was filled and not freed.
        """
        for queue in self.queues.values():
            freed = sum(barrier.phases for barrier in queue.free)
            if freed != queue.fills:
                raise Fault("left over", f"{queue.fills} fills, of which {freed} were freed")


def run_cluster(
    kernel: Any, arguments: dict[str, Any] | None, numbers: range, count: int, seed: int
) -> list[Cta]:
    """Run the CTAs `numbers` of a grid of `count` in one interleaving: a cluster, or those that
    share a tile through a workspace."""
    clock = Clock(seed)
    ctas = [Cta(kernel, clock, number, count) for number in numbers]
    threads = 1 + kernel.programs * kernel.num_warps
    everybody, workspace = Rendezvous(len(ctas) * threads), Workspace()
    for rank, cta in enumerate(ctas):
        if kernel.tile_parts > 1:
            cta.everybody = Rendezvous(threads)
            cta.workspace, cta.tile_rank = workspace, rank
        else:
            cta.peers, cta.everybody = ctas, everybody
    for cta in ctas:
        cta.start(kernel, arguments)
    clock.run()
    for cta in ctas:
        cta.finish()
    return ctas
