"""What an author demands of a kernel's machine code, and whether it is so.

A contract (``require=``, ``max_spills=``) is decided from the machine code and the assembler's
report, which an entry of the cache keeps as metadata: a hit is checked as well as a compilation,
and neither takes a GPU.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilec.compiler.machine_code import FEATURES, features_of_target
from tilec.compiler.target import TARGETS, Target
from tilec.diagnostics import CompileError, Frame, LaunchError, Note, Span, TilecWarning
from tilec.jit.cache import Request


@dataclass(frozen=True)
class Advice:
    """Why a kernel lacks a feature, and what is nearest that has it."""

    reasons: tuple[Note, ...] = ()
    nearest: str | None = None


def required(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of a ``require=`` in order, each once.

    Raises:
        LaunchError: a name is not that of a feature.
    """
    if isinstance(names, str):
        names = (names,)
    asked = tuple(dict.fromkeys(names))
    for name in asked:
        if name not in FEATURES:
            raise LaunchError(
                f"require must name features of the hardware, found {name!r}",
                hint=f"known are {_listing(FEATURES)}",
            )
    return asked


def check(
    request: Request, facts: Mapping[str, Any], advise: Callable[[Sequence[str]], Advice]
) -> None:
    """Refuse a kernel that does not keep its contract.

    Args:
        request: the kernel, its options and its target.
        facts: the metadata of its entry.
        advise: says of missing features why they are missing; only called for a refusal.

    Raises:
        CompileError: a required feature is not used, or too many bytes are spilled.
    """
    asked = request.options
    used = facts.get("features", ())
    lacking = [name for name in asked.require if name not in used]
    if lacking:
        raise _lacking(request, used, lacking, advise(lacking))
    if asked.max_spills is not None:
        _check_spills(request, facts, asked.max_spills)


def _lacking(
    request: Request, used: Sequence[str], lacking: Sequence[str], advice: Advice
) -> CompileError:
    target = Target.parse(request.target)
    has = features_of_target(target)
    facts = [
        f"{target.name} has {_listing(sorted(has))}",
        *(f"targets with {name}: {_listing(_with(name))}" for name in lacking if name not in has),
    ]
    return CompileError(
        f"{request.name} does not keep its contract: its machine code for {target.name} must use "
        f"{_listing(request.options.require)}, found {_listing(used)}",
        frames=[_place(request)],
        notes=[*map(Note, facts), *advice.reasons],
        hint=advice.nearest,
    )


def _check_spills(request: Request, facts: Mapping[str, Any], limit_bytes: int) -> None:
    resources = facts.get("resources")
    assembler = facts.get("assembler", "the assembler")
    if resources is None:
        warnings.warn(
            f"max_spills={limit_bytes} of {request.name} is not checked: {assembler} assembles it "
            "as it loads it, and does not say what it spills",
            TilecWarning,
            stacklevel=2,
        )
        return
    spilled = max(resources["spill_store_bytes"], resources["spill_load_bytes"])
    if spilled > limit_bytes:
        raise CompileError(
            f"{request.name} does not keep its contract: its machine code for {request.target} may "
            f"spill {limit_bytes} bytes a thread, found {spilled}",
            frames=[_place(request)],
            notes=[Note(f"{assembler} gives it {resources['registers']} registers a thread")],
            hint="a smaller tile, or more warps (num_warps=), leave more registers to each element",
        )


def _place(request: Request) -> Frame:
    code = request.function.__code__
    return Frame(Span(code.co_filename, code.co_firstlineno), request.name)


def _with(feature: str) -> list[str]:
    return [name for name, target in TARGETS.items() if feature in features_of_target(target)]


def _listing(names: Iterable[str]) -> str:
    """Return names as in a sentence.

    Example:
        >>> _listing(["a"]), _listing(["a", "b", "c"]), _listing([])
        ('a', 'a, b and c', 'none')
    """
    *most, last = list(names) or ["none"]
    return f"{', '.join(most)} and {last}" if most else last
