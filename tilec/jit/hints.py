"""What an author may hint at, and which values make sense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilec.compiler.target import TARGETS
from tilec.diagnostics import LaunchError
from tilec.trace.options import KernelOptions

_MOST = {"num_warps": 32, "num_stages": 16, "num_ctas": 16, "occupancy": 32}
_POWERS_OF_TWO = ("num_warps", "num_ctas")
_OTHERS = {"num_warps": 12}
"""The one other value: three warpgroups."""

Hint = int | Mapping[str, int] | None
"""One value for all targets, or values by the target's name; None leaves it to the compiler."""


def options_of(
    hints: Mapping[str, Hint], require: tuple[str, ...] = (), max_spills: int | None = None
) -> KernelOptions:
    """Return the options of a kernel, with what the author said checked.

    Args:
        hints: by name, see KernelOptions.
        require: names of features, known to be such.
        max_spills: bytes of a thread.

    Raises:
        LaunchError: a hint or limit is out of range.
    """
    for_all: dict[str, int] = {}
    by_target: list[tuple[str, str, int]] = []
    for name, hint in hints.items():
        if isinstance(hint, Mapping):
            by_target += [(_target(name, each), name, _value(name, hint[each])) for each in hint]
        elif hint is not None:
            for_all[name] = _value(name, hint)
    if max_spills is not None and (type(max_spills) is not int or max_spills < 0):
        raise LaunchError(f"max_spills must be a number of bytes from 0 on, found {max_spills!r}")
    return KernelOptions(
        **for_all, require=require, max_spills=max_spills, by_target=tuple(sorted(by_target))
    )


def _target(name: str, target: Any) -> str:
    if target not in TARGETS:
        known = ", ".join(TARGETS)
        raise LaunchError(f"{name} has a value for {target!r}, expected some of {known}")
    return target


def _value(name: str, value: Any) -> int:
    most, is_power, other = _MOST[name], name in _POWERS_OF_TWO, _OTHERS.get(name)
    if type(value) is int and 1 <= value <= most:
        if value == other or not (is_power and value & (value - 1)):
            return value
    kind = "a power of two" if is_power else "an integer"
    if other:
        kind = f"{other} or {kind}"
    raise LaunchError(f"{name} must be {kind} from 1 to {most}, found {value!r}")
