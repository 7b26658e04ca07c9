"""Kernels under many interleavings, against what their `tile` module says."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeAlias

from warp_roles import group_ops, plain_ops, role_ops, workspace_ops  # noqa: F401  (register the ops)
from warp_roles.cta import Cta, run_cluster
from warp_roles.faults import Fault
from warp_roles.group_ops import Group, named
from warp_roles.kernel import Kernel
from warp_roles.terms import Term, columns, rows

TARGET = "sm_90a"
COLUMN_UNIT = 8
"""CTAs that share a tile finish so many columns each, or a multiple."""


@dataclass(frozen=True)
class Compiled:
    """The texts of a kernel in both dialects."""

    tile: str
    tilegpu: str


def compile_kernel(kernel: Any, *arguments: Any, **keywords: Any) -> Compiled:
    """The modules that the compiler makes of a kernel for these arguments.

    ``kernel.grouped`` takes a list of problems.
    """
    phases = ("tile", "tilegpu")
    compiled = kernel.compile(*arguments, target=TARGET, phases=phases, **keywords)
    return Compiled(compiled.phases["tile"], compiled.phases["tilegpu"])


def planned(compiled: Compiled, plan: dict[str, Any]) -> Compiled:
    """The kernel as the passes make it under a plan's decisions."""
    options = f"target={TARGET} plan={{{json.dumps(plan, separators=(',', ':'))}}}"
    command = [sys.executable, "-m", "tilec.opt", "-", f"--tilec-tilegpu={options}"]
    done = subprocess.run(command, input=compiled.tile, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Compiled(compiled.tile, done.stdout)


def parse(text: str) -> Kernel:
    from tilec._mlir import ir

    with ir.Context():
        return Kernel(ir.Module.parse(text))


class Reference:
    """Stands for a CTA where one program after another computes its tile."""

    warps = 1

    def __init__(self) -> None:
        self.stores: dict[Any, Term] = {}
        self.tile: tuple[int, ...] = ()

    def store(self, place: Any, piece: Any, pieces: int, term: Term) -> None:
        self.stores[place] = term


def reference_stores(text: str, arguments: dict[str, Any], problem: str = "") -> dict[Any, Term]:
    """What the `tile` module stores, tile by tile."""
    kernel, cta = parse(text), Reference()
    view = kernel.partition(arguments)
    counts = [
        math.ceil(size / tile) for size, tile in zip(view.shape, view.tile_shape, strict=True)
    ]
    for cta.tile in itertools.product(*map(range, counts)):
        values = kernel.frame_values(arguments, problem)
        frame = SimpleNamespace(cta=cta, values=values, warp=0, known=0)
        assert not list(kernel.run(frame)), "the tile module waits for something"
    return cta.stores


Arguments: TypeAlias = "dict[str, Any] | list[dict[str, Any]]"
"""Shapes of arrays and values of scalars, by the parameters' names; of a grouped launch, a list."""


class Grid:
    """A kernel, what it is launched with, and what it must store.

    Attributes:
        kernel: the kernel of the `tilegpu` module.
        problems: the arguments of each problem of a grouped launch, or those of the one there is,
            by what the names of its arrays begin with.
        ctas: of the grid.
        expected: what the `tile` module stores.
    """

    def __init__(self, compiled: Compiled, arguments: Arguments, ctas: int) -> None:
        self.kernel = parse(compiled.tilegpu)
        self.problems = {"": arguments} if isinstance(arguments, dict) else named(arguments)
        self.ctas = ctas
        self.expected: dict[Any, Term] = {}
        for name, problem in self.problems.items():
            self.expected |= reference_stores(compiled.tile, problem, name)
        if isinstance(arguments, list):
            self.kernel.group = Group.of(self.kernel, arguments)
        together = max(self.kernel.cluster, self.kernel.tile_parts)
        assert ctas % together == 0, f"the grid must be whole groups of {together}"

    def check(self, seed: int) -> None:
        """Run all CTAs once; each seed gives other interleavings.

        Raises:
            Fault: a rule was broken.
        """
        stores: dict[Any, Term] = {}
        owners: dict[Any, int] = {}
        for cta in _run_grid(self.kernel, self.problems.get(""), self.ctas, seed):
            cluster = cta.number // self.kernel.cluster
            for place, pieces in cta.stores.items():
                if not _is_inside(place, self.problems):
                    continue  # the rest of the last cluster
                term = _whole(place, pieces)
                if place in stores:  # CTAs that share a tile may finish the same columns
                    shared = self.kernel.shares_tiles and owners[place] == cluster
                    if not shared or stores[place] is not term:
                        raise Fault("result", f"two CTAs store {place}")
                stores[place], owners[place] = term, cluster
        _compare(stores, self._wanted(stores))

    def _wanted(self, stores: dict[Any, Term]) -> dict[Any, Term]:
        if not self.kernel.shares_tiles or stores.keys() == self.expected.keys():
            return self.expected
        tile_shape = self.kernel.partition(self.problems[""]).tile_shape
        assert tile_shape is not None
        return _divided(self.expected, tile_shape, self.kernel.cluster, stores)


def _run_grid(
    kernel: Kernel, arguments: dict[str, Any] | None, count: int, seed: int
) -> Iterator[Cta]:
    together = max(kernel.cluster, kernel.tile_parts)
    for first in range(0, count, together):
        numbers = range(first, first + together)
        yield from run_cluster(kernel, arguments, numbers, count, seed * count + first)


def _is_inside(place: Any, problems: dict[str, dict[str, Any]]) -> bool:
    name, offsets = place
    problem, colon, parameter = name.rpartition(":")
    shape = problems[problem + colon][parameter]
    return all(offset < size for offset, size in zip(offsets, shape, strict=True))


def _whole(place: Any, pieces: dict[Any, tuple[Term, int]]) -> Term:
    (term, count), *others = pieces.values()
    if len(pieces) != count:
        raise Fault("result", f"{len(pieces)} of {count} pieces of {place} are stored")
    if any(other is not term for other, _ in others):
        raise Fault("result", f"pieces of {place} are of different tiles")
    return term


def _compare(stores: dict[Any, Term], wanted: dict[Any, Term]) -> None:
    if stores.keys() != wanted.keys():
        wrong = sorted(stores.keys() ^ wanted.keys())
        raise Fault("result", f"stored or missing against expectation: {wrong}")
    for place, term in stores.items():
        if term is not wanted[place]:
            raise Fault("result", f"{place} holds {term}, expected {wanted[place]}")


def _divided(
    expected: dict[Any, Term], tile_shape: tuple[int, ...], parts: int, stores: dict[Any, Term]
) -> dict[Any, Term]:
    """Where the CTAs of a cluster finish a part of a tile each: the parts, at their places."""
    wanted: dict[Any, Term] = {}
    for place, whole in expected.items():
        for dim, part in ((-1, columns), (-2, rows)):
            extent = tile_shape[dim]
            width = math.ceil(extent / (parts * COLUMN_UNIT)) * COLUMN_UNIT
            starts = {min(number * width, extent - width) for number in range(parts)}
            along = {_moved(place, dim, start): part(whole, start, width) for start in starts}
            if stores.keys() >= along.keys():
                wanted |= along
                break
    return wanted


def _moved(place: Any, dim: int, distance: int) -> Any:
    name, offsets = place
    moved = [*offsets]
    moved[dim] += distance
    return name, tuple(moved)


def assert_sound(compiled: Compiled, arguments: Arguments, ctas: int, seeds: int) -> None:
    """No interleaving breaks a rule."""
    grid = Grid(compiled, arguments, ctas)
    for seed in range(seeds):
        grid.check(seed)


def faults(compiled: Compiled, arguments: Arguments, ctas: int, seeds: int) -> Counter[str]:
    """How often each kind of fault is found; one interleaving finds one or none."""
    grid = Grid(compiled, arguments, ctas)
    found: Counter[str] = Counter()
    for seed in range(seeds):
        try:
            grid.check(seed)
        except Fault as fault:
            found[fault.kind] += 1
    return found
