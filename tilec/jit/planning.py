"""From ``tl.AUTO`` to a tile: what the runtime asks when it meets shapes for the first time.

::

    kernel, traced at a seed tile -> summary, kept in the disk cache      (once a specialization)
    summary + shapes + GPU        -> tile and decisions, by _runtime.tile_plan    (microseconds)

The kernel is then traced again at the tile that was chosen, like one whose author chose it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, cast

from tilec import _runtime
from tilec.compiler.target import Target
from tilec.diagnostics import LaunchError, TraceError
from tilec.jit import guards
from tilec.jit.cache import DiskCache, Request
from tilec.jit.job import CompileJob
from tilec.trace.signature import Signature, ViewSpec

CARRIED_OUT = frozenset({"wgmma", "three_consumers", "cluster", "split_k", "workspace"})
"""Of ``_DECISIONS``, those that code generation carries out. A plan takes the others for features
that the target lacks."""

_DECISIONS = {
    "wgmma": "wgmma",
    "three_consumers": "wgmma",
    "cluster": "cluster",
    "split_k": "cluster",
    "workspace": None,
}
"""What a plan may decide on, and the feature of the target that it takes, if any."""
_ALONE = frozenset({"split_k", "workspace"})
"""Decisions that grouped launches leave out."""
_SEED = {1: (1440,), 2: (96, 160)}
"""Tiles to trace a summary at. Extents that an author hardly writes down tell a tile's own
extents from constants; they divide by what a kernel may ask for."""


@dataclass(frozen=True)
class Group:
    """What a plan needs to know of a list of problems beside their mean extents.

    Attributes:
        problems: how many there are.
        varying: for each array, in flat order, whether the problems differ along a dimension.
    """

    problems: int
    varying: tuple[tuple[bool, ...], ...]


@dataclass(frozen=True)
class Planned:
    """What a plan comes to.

    Attributes:
        tile: the tile shape of all partitions.
        decisions: what code generation is told beside it, as JSON text; None when it decides
            itself, as for a tile of the author's.
    """

    tile: tuple[int, ...]
    decisions: str | None


class Planner:
    """Plans the tiles of one kernel.

    Args:
        request: the kernel; its signature and target are replaced.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._summaries: dict[Signature, tuple[dict[str, Any], tuple[guards.Guard, ...]]] = {}

    def plan(
        self,
        signature: Signature,
        shapes: Iterable[tuple[int, ...]],
        target: Target,
        multiprocessors: int | None = None,
        group: Group | None = None,
    ) -> Planned:
        """Return the plan for a launch.

        Args:
            signature: the specialization, with ``"auto"`` for a tile.
            shapes: of the arrays, in flat order; in a grouped launch, their means.
            target: what to compile for.
            multiprocessors: of the device; the target's usual number by default.
            group: of a grouped launch.

        Raises:
            TraceError: the kernel cannot be traced at any tile.
        """
        plan = self._ask(signature, shapes, target, multiprocessors, explain=False, group=group)
        return _planned(plan["tile"], plan["decisions"])

    def best(
        self,
        signature: Signature,
        shapes: Iterable[tuple[int, ...]],
        target: Target,
        multiprocessors: int,
        count: int,
    ) -> list[Planned]:
        """Return the plan for a launch and its closest rivals, by what the model says they cost."""
        plan = self._ask(signature, shapes, target, multiprocessors, explain=True)
        possible = [item for item in plan["candidates"] if not item["rejected"]]
        possible.sort(key=lambda item: (item != plan["chosen"], item["cycles"]))
        shared = {name: value for name, value in plan["decisions"].items() if name != "split_by"}
        rivals = [_planned(item["tile"], {**shared, **_decided(item)}) for item in possible]
        first = _planned(plan["tile"], plan["decisions"])
        return list(dict.fromkeys([first, *rivals]))[:count]

    def explain(
        self, signature: Signature, shapes: Iterable[tuple[int, ...]], target: Target
    ) -> dict[str, Any]:
        """Return a plan with all candidates, their predicted cycles, and the reasons."""
        return self._ask(signature, shapes, target, None, explain=True)

    def _ask(
        self,
        signature: Signature,
        shapes: Iterable[tuple[int, ...]],
        target: Target,
        multiprocessors: int | None,
        explain: bool,
        group: Group | None = None,
    ) -> dict[str, Any]:
        options = self._request.options.of_target(target.name)
        summary, device = self._summary(signature), device_of(target, multiprocessors)
        if group is not None:
            self._check_whole(signature, summary, group)
            device["features"] = [name for name in device["features"] if name not in _ALONE]
        return _runtime.tile_plan(
            summary,
            _arrays(signature, shapes, group),
            device,
            num_warps=options.num_warps or 0,
            num_stages=options.num_stages or 0,
            problems=group.problems if group is not None else 1,
            explain=explain,
        )

    def _check_whole(self, signature: Signature, summary: Mapping[str, Any], group: Group) -> None:
        """Refuse problems for which no tile is whole along dimensions that are not divided."""
        specs = list(signature.runtime())
        place = sum(isinstance(spec, ViewSpec) for spec in specs[: summary["partition"]])
        for dim in summary["whole"]:
            if group.varying[place][dim]:
                raise LaunchError(
                    f"with tl.AUTO, {self._request.name} does not divide dimension {dim} of its "
                    "partition, along which the problems differ",
                    hint="give the tile shape, if the kernel is right for rows shorter than it",
                )

    def _summary(self, signature: Signature) -> dict[str, Any]:
        rank = signature.tile_rank()
        assert rank is not None
        seeded = replace(signature.with_tile(seed_tile(rank)), grouped=False)
        known = self._summaries.get(seeded)
        if known is not None and guards.hold(known[1]):
            return known[0]
        outside = guards.collect(cast("FunctionType", self._request.function), seeded)
        request = replace(self._request, signature=seeded)
        try:
            text = disk_cache().summary(request, CompileJob(request).summarize)
        except TraceError as error:
            error.hint = error.hint or (
                f"tl.AUTO tries the kernel with tiles of {seed_tile(rank)} first: it must be right "
                "for any tile"
            )
            raise
        summary = cast("dict[str, Any]", json.loads(text))
        self._summaries[seeded] = summary, outside
        return summary


def _planned(tile: tuple[int, ...], decisions: Mapping[str, Any]) -> Planned:
    # Without roles the passes decide as for any tile, and share their results.
    itself = decisions.get("schedule", "sync") == "sync" and decisions.get("split_k", 1) == 1
    return Planned(tile, None if itself else json.dumps(decisions, sort_keys=True))


def _decided(candidate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the decisions that a candidate stands for; the others hold for all of a launch."""
    if candidate["schedule"] == "none":
        return {}
    names = ("schedule", "num_warps", "split_k", "split_by", "cluster")
    return {name: candidate[name] for name in names if name in candidate}


def seed_tile(rank: int) -> tuple[int, ...]:
    """Return the tile at which a kernel is traced for its summary.

    Example:
        >>> seed_tile(3)
        (1, 96, 160)
    """
    return _SEED[rank] if rank in _SEED else (1,) * (rank - 2) + _SEED[2] if rank else ()


def device_of(target: Target, multiprocessors: int | None = None) -> dict[str, Any]:
    """Return what a plan needs to know of a GPU."""
    possible = {name for name, feature in _DECISIONS.items() if not feature or target.has(feature)}
    features = (target.features - _DECISIONS.keys()) | (possible & CARRIED_OUT)
    limits = target.limits
    return {
        "multiprocessors": multiprocessors or limits.multiprocessors,
        "dram_bytes_per_cycle": limits.dram_bytes_per_cycle,
        "shared_bytes": limits.shared_per_block_bytes,
        "features": sorted(features),
    }


def _arrays(
    signature: Signature, shapes: Iterable[tuple[int, ...]], group: Group | None
) -> list[dict[str, Any] | None]:
    left = iter(shapes)
    arrays = [
        _array(spec, next(left)) if isinstance(spec, ViewSpec) else None
        for spec in signature.runtime()
    ]
    if group is not None:
        known = (array for array in arrays if array)
        for array, varying in zip(known, group.varying, strict=True):
            array["varying"] = varying
    return arrays


def _array(spec: ViewSpec, shape: tuple[int, ...]) -> dict[str, Any]:
    return {
        "shape": shape,
        "stride_align": spec.stride_align,
        "unit_strides": spec.unit_strides,
        "align": spec.align,
        "bits": 8 * spec.dtype.itemsize_bytes,
    }


@functools.cache
def disk_cache() -> DiskCache:
    """Return the cache of this process."""
    return DiskCache.from_settings()
