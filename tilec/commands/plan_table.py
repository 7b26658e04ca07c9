"""The plan of a tile as text: what was chosen, why, and what else was looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_SHOWN = 5
_COLUMNS = ("tile", "schedule", "split K", "cluster", "programs", "waves", "cycles", "")


def plan_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines that show a plan, as ``Kernel.explain`` gives it."""
    chosen: Mapping[str, Any] = plan["chosen"]
    yield f"tile {plan['tile']} for tl.AUTO: {chosen['programs']} programs"
    yield from (f"  {name}: {_text(value)}" for name, value in plan["decisions"].items())
    yield from (f"  because: {reason}" for reason in plan["reasons"])
    if plan["candidates"]:
        yield ""
        yield from _aligned([_COLUMNS, *(_row(item, chosen) for item in plan["candidates"])])


def rival_lines(plan: Mapping[str, Any], tile: Sequence[int]) -> Iterator[str]:
    """Return the lines that compare an author's tile with the best that ``tl.AUTO`` looks at."""
    possible = [item for item in plan["candidates"] if not item["rejected"]]
    best = sorted(possible, key=lambda item: item["cycles"])
    own = [item for item in best[_SHOWN:] if tuple(item["tile"]) == tuple(tile)]
    rows = [(*_row(item, None)[:-1], _remark(item, plan, tile)) for item in best[:_SHOWN] + own]
    if rows:
        yield "  tl.AUTO compares, by what its model says they take:"
        yield from (f"    {line}" for line in _aligned([_COLUMNS, *rows]))
    elif tuple(plan["tile"]) != tuple(tile):
        yield f"  tl.AUTO would take {tuple(plan['tile'])}"


def _remark(item: Mapping[str, Any], plan: Mapping[str, Any], tile: Sequence[int]) -> str:
    is_own = tuple(item["tile"]) == tuple(tile)
    remarks = {"its choice": item == plan["chosen"], "this tile": is_own}
    return ", ".join(text for text, holds in remarks.items() if holds)


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        parts = (f"{name} {items}" for name, items in value.items() if items)  # pyright: ignore
        return ", ".join(parts) or "none"
    return str(value)


def _row(candidate: Mapping[str, Any], chosen: Mapping[str, Any] | None) -> tuple[str, ...]:
    remark = candidate["rejected"] or ("chosen" if candidate == chosen else "")
    names = ("cluster", "programs", "waves")
    split = str(candidate["split_k"])
    if candidate.get("split_by") == "workspace":
        split += " by workspace"
    numbers = (split, *(candidate[name] for name in names))
    cycles = f"{candidate['cycles']:.0f}"
    return (str(candidate["tile"]), candidate["schedule"], *map(str, numbers), cycles, remark)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
