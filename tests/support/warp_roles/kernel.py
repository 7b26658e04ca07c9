"""A kernel's body, turned once into closures over frames.

Most ops are steps: functions of a frame that do their work at once. Those at which others may go on
or have to be waited for are runs: generators of conditions, None where nothing is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warp_roles.clock import Run
from warp_roles.cta import Frame
from warp_roles.faults import Fault
from warp_roles.products import Pending
from warp_roles.terms import Term, View

Step = Callable[[Frame], None]
Runner = Callable[[Frame], Run]
#: By op: functions of the op and its kernel.
STEPS: dict[str, Callable[[Any, Kernel], Step]] = {}
RUNS: dict[str, Callable[[Any, Kernel], Runner]] = {}


def step(*names: str) -> Callable[[Any], Any]:
    def register(handler: Any) -> Any:
        STEPS.update(dict.fromkeys(names, handler))
        return handler

    return register


def run(*names: str) -> Callable[[Any], Any]:
    def register(handler: Any) -> Any:
        RUNS.update(dict.fromkeys(names, handler))
        return handler

    return register


@dataclass(frozen=True)
class Block:
    """A straight run of ops."""

    arguments: tuple[int, ...]
    ops: tuple[tuple[bool, Any], ...]  # whether it is a run, and the step or runner
    results: tuple[int, ...]

    def run(self, frame: Frame) -> Run:
        for waits, act in self.ops:
            if waits:
                yield from act(frame)
            else:
                act(frame)

    def outcome(self, frame: Frame) -> list[Any]:
        """The terminator's operands."""
        return [frame.values[result] for result in self.results]


class Kernel:
    """The one kernel of a module.

    Attributes:
        num_warps: of a program.
        programs: of a CTA.
        cluster: CTAs of one.
        shares_tiles: whether those, or as many as `tile_parts`, have one tile together.
        tile_parts: CTAs that have one tile together and are no cluster.
        group: the problems of a grouped launch; set before it runs.
    """

    group: Any = None

    def __init__(self, module: Any):
        (kernel,) = (
            op.operation for op in module.body.operations if op.operation.name == "tile.kernel"
        )
        self._numbers: dict[Any, int] = {}
        self._constants: list[tuple[int, Any]] = []
        self.num_warps = self._attribute(kernel, "tilegpu.num_warps", 1)
        self.programs = self._attribute(kernel, "tilegpu.programs", 1)
        self.cluster = self._attribute(kernel, "tilegpu.cluster", 1)
        self.tile_parts = self._attribute(kernel, "tilegpu.tile_parts", 1)
        self.shares_tiles = "tilegpu.shares_tiles" in kernel.attributes
        (entry,) = kernel.regions[0].blocks
        names = [name.value for name in kernel.attributes["arg_names"]]
        self._arguments = [
            (self.number(value), name, str(value.type))
            for name, value in zip(names, entry.arguments, strict=True)
        ]
        self._body = self.block(entry)

    @staticmethod
    def _attribute(kernel: Any, name: str, absent: int) -> int:
        return kernel.attributes[name].value if name in kernel.attributes else absent

    # -- reading ---------------------------------------------------------------------------------

    def number(self, value: Any) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def numbers(self, values: Any) -> tuple[int, ...]:
        return tuple(map(self.number, values))

    def constant(self, value: Any, known: Any) -> None:
        """Remember what an SSA value is in every frame."""
        self._constants.append((self.number(value), known))

    def block(self, block: Any) -> Block:
        arguments = self.numbers(block.arguments)
        ops, results = [], ()
        for view in block.operations:
            op = view.operation
            if op.name in ("scf.yield", "scf.condition", "tile.return"):
                results = self.numbers(op.operands)
            else:
                ops.append(self._op(op))
        return Block(arguments, tuple(ops), results)

    def region(self, op: Any, number: int) -> Block | None:
        blocks = list(op.regions[number].blocks)
        return self.block(blocks[0]) if blocks else None

    def _op(self, op: Any) -> tuple[bool, Any]:
        if runner := RUNS.get(op.name):
            return True, runner(op, self)
        if handler := STEPS.get(op.name):
            return False, handler(op, self)
        return False, STEPS["*"](op, self)

    # -- running ---------------------------------------------------------------------------------

    def frame_values(self, arguments: dict[str, Any] | None, problem: str = "") -> list[Any]:
        """What a frame knows at the start. Arrays are given by shape, scalars by value.

        Args:
            arguments: of the launch; None where each problem of a group has its own.
            problem: begins the names of arrays.
        """
        values = [None] * len(self._numbers)
        if arguments is not None:
            given = self.argument_values(arguments, problem)
            for (number, _, _), value in zip(self._arguments, given, strict=True):
                values[number] = value
        for number, known in self._constants:
            values[number] = known
        return values

    def argument_values(self, arguments: dict[str, Any], problem: str = "") -> list[Any]:
        """The kernel's arguments, in order."""
        return [
            View.of(problem + name, arguments[name], text)
            if isinstance(arguments[name], tuple)
            else arguments[name]
            for _, name, text in self._arguments
        ]

    def partition(self, arguments: dict[str, Any]) -> View:
        """The first partition among the arguments."""
        values = self.frame_values(arguments)
        views = [values[number] for number, _, text in self._arguments if "partition" in text[:16]]
        return views[0]

    def run(self, frame: Frame) -> Run:
        return self._body.run(frame)


def tile_of(frame: Frame, value: Any) -> Any:
    """A tile that is read: its product must be known to be complete."""
    if not isinstance(value, Pending):
        return value
    if value.number >= frame.known:
        raise Fault("in flight", f"{frame.name} reads the accumulator of product {value.number}")
    return value.term


def is_tile(value: Any) -> bool:
    return str(value.type).startswith("tensor")


def reads(frame: Frame, numbers: tuple[int, ...]) -> list[Term]:
    return [tile_of(frame, frame.values[number]) for number in numbers]
