"""Tiles that CTAs add up in global memory."""

from __future__ import annotations

from typing import Any

from warp_roles.clock import Run
from warp_roles.cta import Frame
from warp_roles.faults import Fault
from warp_roles.kernel import Kernel, Runner, run, tile_of
from warp_roles.terms import Term, added


@run("tilegpu.workspace_sum")
def workspace_sum(op: Any, kernel: Kernel) -> Runner:
    """Every warp leaves its part, the first counts the CTA, and the last CTA adds up all parts."""
    sources, (*results, is_last) = kernel.numbers(op.operands), kernel.numbers(op.results)
    count = op.attributes["parts"].value

    def execute(frame: Frame) -> Run:
        cta = frame.cta
        own = [tile_of(frame, frame.values[source]) for source in sources]
        yield None
        cta.workspace.parts[cta.tile_rank, frame.warp] = own
        yield None
        yield frame.meet()
        if frame.warp == 0:
            cta.workspace.arrivals += 1
            cta.is_last = cta.workspace.arrivals == count
        yield None
        yield frame.meet()
        frame.values[is_last] = cta.is_last
        sums = _sums(cta.workspace.parts, frame, count) if cta.is_last else own
        for result, value in zip(results, sums, strict=True):
            frame.values[result] = value

    return execute


def _sums(parts: dict[tuple[int, int], list[Term]], frame: Frame, count: int) -> list[Term]:
    places = [(rank, frame.warp) for rank in range(count)]
    if not parts.keys() >= set(places):
        raise Fault("early", f"{frame.name} adds parts that are not written")
    return [added(*terms) for terms in zip(*(parts[place] for place in places), strict=True)]
