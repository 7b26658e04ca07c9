"""The order in which things happen: everything takes a random time."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Generator

from warp_roles.faults import Fault

Act = Callable[[], None]
Condition = Callable[[], bool]
#: An agent: it yields conditions to wait for, or None where it only takes its time.
Run = Generator[Condition | None, None, None]


class Clock:
    """Agents and events of one interleaving.

    Speeds differ by orders of magnitude, so that an agent may sleep through whole rounds of others.
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        #: Time, a number that makes it unique, and what happens.
        self._tasks: list[tuple[float, int, Act]] = []
        self._numbers = itertools.count()
        self._now = 0.0
        self._parked: dict[str, tuple[Condition, Act]] = {}

    def some_duration(self, spread: float) -> float:
        """What a kind of step takes on the average; `spread` is that of its logarithm."""
        return self._random.lognormvariate(0, spread)

    def later(self, act: Act, duration: float) -> None:
        """Have something happen after about this time."""
        time = self._now + duration * self._random.expovariate(1)
        heapq.heappush(self._tasks, (time, next(self._numbers), act))

    def start(self, name: str, run: Run, duration: float) -> None:
        """Start an agent whose steps take about this time."""

        def go_on() -> None:
            for condition in run:
                if condition is None:
                    return self.later(go_on, duration)
                if not condition():
                    return park(condition)
            return None

        def park(condition: Condition) -> None:
            self._parked[name] = condition, lambda: self.later(lambda: poll(condition), duration)

        def poll(condition: Condition) -> None:
            # It may have become false again while this agent slept.
            if condition():
                go_on()
            else:
                park(condition)

        self.later(go_on, duration)

    def run(self) -> None:
        """Until nothing is left to do.

        Raises:
            Fault: agents wait for what never comes, or whatever they found.
        """
        while self._tasks:
            self._now, _, act = heapq.heappop(self._tasks)
            act()
            for name in [name for name, (holds, _) in self._parked.items() if holds()]:
                self._parked.pop(name)[1]()
        if self._parked:
            raise Fault("deadlock", f"waiting for ever: {', '.join(sorted(self._parked))}")
