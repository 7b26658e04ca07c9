"""Ops of grouped launches: whose problem a tile is, and that problem's arguments."""

from __future__ import annotations

import bisect
import itertools
import math
from dataclasses import dataclass
from typing import Any

from warp_roles.cta import Frame
from warp_roles.kernel import Kernel, Step, step


def named(problems: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Problems by what the names of their arrays begin with."""
    return {f"{number}:": problem for number, problem in enumerate(problems)}


@dataclass(frozen=True)
class Group:
    """The problems of a launch.

    Attributes:
        arguments: of each problem, in the kernel's order.
        starts: the number of each problem's first tile, and of all tiles.
    """

    arguments: list[list[Any]]
    starts: list[int]

    @classmethod
    def of(cls, kernel: Kernel, problems: list[dict[str, Any]]) -> Group:
        arguments = [
            kernel.argument_values(problem, name) for name, problem in named(problems).items()
        ]
        counts = [_tiles(kernel, problem) for problem in problems]
        return cls(arguments, list(itertools.accumulate(counts, initial=0)))

    def problem_of(self, tile: int) -> int:
        return min(bisect.bisect_right(self.starts, tile), len(self.arguments)) - 1


def _tiles(kernel: Kernel, problem: dict[str, Any]) -> int:
    """Tiles of a problem, or what clusters take of them at a time."""
    view = kernel.partition(problem)
    counts = [
        math.ceil(size / tile) for size, tile in zip(view.shape, view.tile_shape, strict=True)
    ]
    if kernel.cluster > 1:
        counts[-2] = math.ceil(counts[-2] / kernel.cluster)
    return math.prod(counts)


@step("tilegpu.group_tiles")
def group_tiles(op: Any, kernel: Kernel) -> Step:
    (result,) = kernel.numbers(op.results)

    def execute(frame: Frame) -> None:
        frame.values[result] = kernel.group.starts[-1]

    return execute


@step("tilegpu.find_problem")
def find_problem(op: Any, kernel: Kernel) -> Step:
    (number,), (problem, tile) = kernel.numbers(op.operands), kernel.numbers(op.results)

    def execute(frame: Frame) -> None:
        found = kernel.group.problem_of(frame.values[number])
        frame.values[problem] = found
        frame.values[tile] = frame.values[number] - kernel.group.starts[found]

    return execute


@step("tilegpu.arguments")
def arguments(op: Any, kernel: Kernel) -> Step:
    (problem,), results = kernel.numbers(op.operands), kernel.numbers(op.results)

    def execute(frame: Frame) -> None:
        given = kernel.group.arguments[frame.values[problem]]
        for number, value in zip(results, given, strict=True):
            frame.values[number] = value

    return execute
