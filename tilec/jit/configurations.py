"""What tuning chooses among: an author's configurations, or the best tiles of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from tilec.diagnostics import LaunchError
from tilec.jit.hints import options_of
from tilec.jit.planning import Planned
from tilec.trace.options import HINTS

_TILE = "tile"


@dataclass(frozen=True)
class Configuration:
    """One way to compile a kernel.

    Attributes:
        constants: values of ``tl.Constant`` parameters.
        hints: of ``tl.kernel``, where they are given.
        planned: the tile of ``tl.AUTO`` and what goes with it; None leaves it to the plan.
    """

    constants: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    hints: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    planned: Planned | None = None

    def __str__(self) -> str:
        parts = [
            f"{name}={value!r}" for name, value in (*self.constants.items(), *self.hints.items())
        ]
        if self.planned:
            parts.insert(0, f"tile={self.planned.tile}")
            if self.planned.decisions:
                parts.insert(1, self.planned.decisions)
        return ", ".join(parts) or "as it is"

    @property
    def content(self) -> tuple[Any, ...]:
        """Return what tells it from others, for keys."""
        tile = self.planned.tile if self.planned else None
        return tuple(sorted(self.constants.items())), tuple(sorted(self.hints.items())), tile


def configurations_of(
    name: str, configs: Iterable[Mapping[str, Any]], constants: Sequence[str]
) -> tuple[Configuration, ...]:
    """Return an author's configurations.

    Args:
        name: of the kernel.
        configs: values by name: of constants, of hints, ``tile``.
        constants: the kernel's ``tl.Constant`` parameters.

    Raises:
        LaunchError: there is none, or one names or holds what cannot be.
    """
    found = tuple(
        _configuration(f"configuration {number} of {name}", config, constants)
        for number, config in enumerate(configs)
    )
    if not found:
        raise LaunchError(f"there are no configurations to tune {name} over")
    return found


def _configuration(what: str, config: Mapping[str, Any], constants: Sequence[str]) -> Configuration:
    known = (*constants, *HINTS, _TILE)
    for key in config:
        if key not in known:
            raise LaunchError(f"{what} has {key!r}, expected some of {', '.join(known)}")
    tile = config.get(_TILE)
    hints = {name: config[name] for name in HINTS if name in config}
    for key, value in hints.items():
        if isinstance(value, Mapping):
            raise LaunchError(f"{what} has {key} by target, expected one value")
    options_of(hints)
    return Configuration(
        MappingProxyType({key: config[key] for key in constants if key in config}),
        MappingProxyType(hints),
        None if tile is None else Planned(_checked_tile(what, tile), None),
    )


def _checked_tile(what: str, tile: Any) -> tuple[int, ...]:
    extents = tuple(cast("Sequence[Any]", tile)) if isinstance(tile, (tuple, list)) else ()
    if not extents or not all(type(extent) is int and extent > 0 for extent in extents):
        raise LaunchError(f"tile in {what} must be a tuple of positive integers, found {tile!r}")
    return extents
