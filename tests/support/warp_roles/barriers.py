"""Barriers as the lowering makes them: Queue.cpp and SharedMemory.cpp of TileGPUToNVVM."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from warp_roles.faults import Fault


class Mbarrier:
    """PTX ISA, mbarrier: a phase completes with its last arrival and its last byte."""

    def __init__(self, name: str, arrivals: int):
        self.name, self.arrivals = name, arrivals
        self.pending, self.bytes = arrivals, 0
        self.phases = 0  # complete ones

    def expect(self, count: int) -> None:
        self.bytes += count

    def arrive(self) -> None:
        self.pending -= 1
        self._complete()

    def bytes_arrived(self, count: int) -> None:
        self.bytes -= count
        self._complete()

    def _complete(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phases += 1
            self.pending = self.arrivals

    def passes(self, parity: int) -> bool:
        """try_wait.parity: true while the phase that is under way has the other parity."""
        return self.phases % 2 != parity


class Rendezvous:
    """A named barrier: nobody goes on before all have come."""

    def __init__(self, count: int):
        self.count, self.here, self.rounds = count, 0, 0

    def come(self) -> Callable[[], bool]:
        """Arrive; true once the others have."""
        own = self.rounds
        self.here += 1
        self._go_on()
        return lambda: self.rounds > own

    def leave(self) -> None:
        """Never come again: the others do not wait."""
        self.count -= 1
        self._go_on()

    def _go_on(self) -> None:
        if self.here == self.count:
            self.here, self.rounds = 0, self.rounds + 1


class Stage(int):
    """A stage's number; `fill` counts the fills of its queue up to the one meant."""

    fill: int

    @classmethod
    def of(cls, number: int, fill: int) -> Stage:
        stage = cls(number)
        stage.fill = fill
        return stage


class Queue:
    """The barriers of a queue, which a CTA has once.

    The readers are those of all CTAs of the cluster that fetch for each other.
    """

    def __init__(self, stages: int, stage_bytes: int, readers: int, cluster: int):
        self.stages, self.stage_bytes, self.cluster = stages, stage_bytes, cluster
        self.filled = [Mbarrier(f"filled {number}", 1) for number in range(stages)]
        self.free = [Mbarrier(f"free {number}", readers * cluster) for number in range(stages)]
        self.fills = 0

    def stage_of(self, fill: int) -> int:
        return fill % self.stages


class QueueCursors:
    """What each thread knows of a queue: where it stands and which parity comes next."""

    def __init__(self, queue: Queue):
        self.queue = queue
        self.producer, self.producer_parity = 0, 1
        self.consumer, self.consumer_parity = 0, 0
        self.release_stage = 0
        self.waits = 0  # fills waited for or passed by
        self.held: deque[Stage] = deque()  # stages waited for and not freed

    # Waiting comes in two parts, since others go on in between: what to wait for, and what then.

    def free(self) -> Callable[[], bool]:
        barrier, parity = self.queue.free[self.producer], self.producer_parity
        return lambda: barrier.passes(parity)

    def acquired(self) -> Stage:
        queue, stage = self.queue, Stage.of(self.producer, self.queue.fills)
        _expect_phases(queue.free[stage], queue.fills // queue.stages)
        queue.filled[stage].expect(queue.stage_bytes)
        queue.filled[stage].arrive()
        queue.fills += 1
        self.producer, wraps = self._after(stage)
        self.producer_parity ^= wraps
        return stage

    def filled(self) -> Callable[[], bool]:
        barrier, parity = self.queue.filled[self.consumer], self.consumer_parity
        return lambda: barrier.passes(parity)

    def waited(self) -> Stage:
        queue, stage = self.queue, Stage.of(self.consumer, self.waits)
        _expect_phases(queue.filled[stage], self.waits // queue.stages + 1)
        self.waits += 1
        self.held.append(stage)
        self.consumer, wraps = self._after(stage)
        self.consumer_parity ^= wraps
        return stage

    def release(self) -> Stage:
        """The oldest stage held, which is free now."""
        stage = self.release_stage
        if not self.held:
            raise Fault("release", f"frees stage {stage}, but holds none")
        oldest = self.held.popleft()
        if stage != oldest:
            raise Fault("release", f"frees stage {stage}, the oldest one held is {oldest}")
        self.release_stage = self._after(stage)[0]
        return stage

    def skip(self, count: int) -> None:
        stages = self.queue.stages
        rounds, self.consumer = divmod(self.consumer + count, stages)
        self.consumer_parity ^= rounds & 1
        self.release_stage = (self.release_stage + count) % stages
        self.waits += count

    def _after(self, stage: int) -> tuple[int, int]:
        return (0, 1) if stage + 1 == self.queue.stages else (stage + 1, 0)


def _expect_phases(barrier: Mbarrier, expected: int) -> None:
    if barrier.phases != expected:
        raise Fault(
            "early", f"passes barrier {barrier.name} in phase {barrier.phases}, not {expected}"
        )


class Turns:
    """A barrier for every program, at which the warps of the one before arrive."""

    def __init__(self, programs: int, warps: int):
        self.barriers = [Mbarrier(f"turn {program}", warps) for program in range(programs)]


class TurnCursor:
    """The parity that a thread waits for next; a fresh barrier lets program 0 pass."""

    def __init__(self, turns: Turns, program: int):
        self.turns, self.program = turns, program
        self.parity = int(program == 0)

    def mine(self) -> Callable[[], bool]:
        barrier, parity = self.turns.barriers[self.program], self.parity
        return lambda: barrier.passes(parity)

    def taken(self) -> None:
        self.parity ^= 1

    def give(self) -> None:
        following = (self.program + 1) % len(self.turns.barriers)
        self.turns.barriers[following].arrive()
