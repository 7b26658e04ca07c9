"""A `tile` module, phase by phase, to machine code and a launch plan.

The phases down to PTX are C++ (dialects/Pipelines); this file hands them their options, turns their
diagnostics into exceptions, and has the PTX assembled.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from tilec import settings
from tilec.compiler import containment, dump
from tilec.compiler.assemble import assemble
from tilec.compiler.assembler_log import Resources
from tilec.compiler.build import compiler_build
from tilec.compiler.decisions import Decision, decisions_of
from tilec.compiler.machine_code import features_of_cubin, features_of_ptx
from tilec.compiler.target import Target
from tilec.compiler.texts import Texts
from tilec.diagnostics import CompileError, CompilerFault, Frame, Note, Span, warn_of_hints
from tilec.trace.options import HINTS

PHASES = ("tile", "tilegpu", "lower", "llvm")
"""Phases whose text can be kept, in order; ``ptx`` always is."""

_MLIR_DUMP = "see current operation"
"""How MLIR begins the note that shows an operation: a dump belongs into TILEC_DUMP."""


@dataclass(frozen=True)
class CompileOptions:
    """What is asked of the compiler beside the target.

    Attributes:
        num_warps: the author's hint, or None.
        num_stages: the author's hint, or None.
        num_ctas: the author's hint, or None.
        occupancy: the author's hint, or None.
        plan: the decisions of a tile plan as JSON text; None leaves them to the passes.
        phases: names of ``PHASES`` whose text is wanted.
        explain: whether to keep what the passes decided, and why.
        fault: ``"abort"``, ``"segv"`` or ``"hang"`` fails on purpose inside a pass: for the tests
            of containment.
    """

    num_warps: int | None = None
    num_stages: int | None = None
    plan: str | None = None
    phases: tuple[str, ...] = ()
    num_ctas: int | None = None
    occupancy: int | None = None
    explain: bool = False
    fault: str | None = None

    def hints(self) -> dict[str, int]:
        """Return the author's hints by name."""
        hints = {name: getattr(self, name) for name in HINTS}
        return {name: value for name, value in hints.items() if value is not None}

    def to_json(self, target: Target) -> dict[str, Any]:
        """Return the options as the C++ side takes them."""
        options: dict[str, Any] = {
            "target": target.to_json(),
            "phases": list(self.phases),
            "num_warps": self.num_warps,
            "num_stages": self.num_stages,
        }
        if self.explain:
            options["explain"] = True
        plan: dict[str, Any] = json.loads(self.plan) if self.plan else {}
        if asked := self.hints():
            plan["asked"] = asked
        if plan:
            options["plan"] = plan
        return {**options, "fault": self.fault} if self.fault else options


@dataclass(frozen=True)
class Compiled:
    """The result of one compilation.

    Attributes:
        ptx: the text that was assembled.
        cubin: machine code; empty when the driver is to assemble ``ptx``.
        plan: the launch plan.
        phases: text by phase, for the phases asked for.
        timings_ms: milliseconds by phase.
        assembler: name and version.
        assembler_log: its words.
        resources: what the kernel uses; None when only the driver will know.
        decisions: what the passes decided, and why, if that was asked for.
        warnings: of hints that were not honoured.
    """

    ptx: str
    cubin: bytes
    plan: dict[str, Any]
    phases: dict[str, str] = field(default_factory=dict[str, str])
    timings_ms: dict[str, float] = field(default_factory=dict[str, float])
    assembler: str = ""
    assembler_log: str = ""
    resources: Resources | None = None
    decisions: list[Decision] = field(default_factory=list[Decision])
    warnings: list[str] = field(default_factory=list[str])

    @property
    def asm(self) -> Texts:
        """Return the texts by phase, with ``"ptx"`` and ``"sass"``."""
        return Texts({**self.phases, "ptx": self.ptx}, self.cubin)

    @property
    def features(self) -> frozenset[str]:
        """Return which of ``machine_code.FEATURES`` the machine code uses."""
        return features_of_cubin(self.cubin) if self.cubin else features_of_ptx(self.ptx)

    @property
    def plan_json(self) -> str:
        """Return the launch plan as text."""
        return json.dumps(self.plan, sort_keys=True)

    def metadata(self) -> dict[str, Any]:
        """Return what is worth keeping beside the machine code, as JSON values."""
        facts = {
            "assembler": self.assembler,
            "features": sorted(self.features),
            "resources": self.resources.to_json() if self.resources else None,
            "timings_ms": self.timings_ms,
        }
        return {**facts, "warnings": self.warnings} if self.warnings else facts


def compile_module(
    bytecode: bytes, target: Target, options: CompileOptions | None = None
) -> Compiled:
    """Compile a module that holds one ``tile.kernel``.

    Args:
        bytecode: the module as MLIR bytecode.
        target: whose machine code to make.
        options: hints, and which phases to keep the text of.

    Raises:
        CompileError: the kernel is refused; the error shows where and why.
        CompilerFault: the compiler itself failed; the error names a reproducer.

    Warns:
        HintWarning: a hint is not honoured; says which and why.
    """
    options = options or CompileOptions()
    dump_dir = settings.current().dump_dir
    if dump_dir is not None:
        options = replace(options, phases=PHASES)
    lowered = _lower(bytecode, target, options)
    plan = cast("dict[str, Any]", lowered["plan"])
    start = time.perf_counter()
    assembled = assemble(
        lowered["ptx"], target, str(plan["symbol"]), whole_program=bool(plan.get("whole_program"))
    )
    assemble_ms = 1e3 * (time.perf_counter() - start)
    compiled = Compiled(
        ptx=lowered["ptx"],
        cubin=assembled.cubin,
        plan=plan,
        phases=dict(lowered["phases"]),
        timings_ms={**lowered["timings_ms"], "assemble": assemble_ms},
        assembler=assembled.assembler,
        assembler_log=assembled.log,
        resources=assembled.resources,
        decisions=decisions_of((each, _frames(each)) for each in lowered.get("decisions", ())),
        warnings=_warnings(lowered["diagnostics"]),
    )
    warn_of_hints(compiled.warnings)
    if dump_dir is not None:
        _dump(dump_dir, bytecode, target, options, compiled)
    return compiled


def ir_key(bytecode: bytes, target: Target, options: CompileOptions | None = None) -> str:
    """Return the cache key of a module: its canonical form, the target, hints and this build.

    Raises:
        CompilerFault: the module cannot be brought into canonical form.
    """
    options = options or CompileOptions()
    try:
        canonical = containment.extension().ir_key(bytecode)
    except ValueError as error:
        containment.note_fault()
        raise _fault(str(error), "key", bytecode, target, options) from None
    hints = [target.name, options.hints(), compiler_build()]
    if options.plan:
        hints.append(options.plan)
    return hashlib.sha256(json.dumps([canonical, *hints]).encode()).hexdigest()


def summarize(bytecode: bytes) -> str:
    """Return what a plan of tiles needs to know of a kernel, as JSON (dialects/Plan/Summary.h).

    Raises:
        CompilerFault: the module cannot be analysed.
    """
    try:
        return containment.extension().summarize(bytecode)
    except ValueError as error:
        containment.note_fault()
        raise CompilerFault(f"the compiler failed in phase summary: {error}", None) from None


def module_text(bytecode: bytes, *, locations: bool = False) -> str:
    """Return the textual form of a module."""
    return containment.extension().print_module(bytecode, locations)


def _lower(bytecode: bytes, target: Target, options: CompileOptions) -> dict[str, Any]:
    """Run the C++ phases; return their result or raise what they found."""
    result = containment.run_compiler(bytecode, json.dumps(options.to_json(target)))
    diagnostics = cast("list[dict[str, Any]]", result.get("diagnostics", []))
    if result["status"] == "fault":
        raise _fault(result["message"], result["phase"], bytecode, target, options)
    if result["status"] == "error":
        raise _refusal(diagnostics, str(result["phase"]))
    return result


def _warnings(diagnostics: Sequence[Mapping[str, Any]]) -> list[str]:
    return [_with_place(found) for found in diagnostics if found["severity"] == "warning"]


def _fault(
    message: str, phase: str, bytecode: bytes, target: Target, options: CompileOptions
) -> CompilerFault:
    text = f"the compiler failed in phase {phase}: {message}"
    path = dump.write_reproducer(bytecode, text, options.to_json(target))
    return CompilerFault(text, str(path) if path else None)


def _refusal(diagnostics: Sequence[Mapping[str, Any]], phase: str) -> CompileError:
    errors = [d for d in diagnostics if d["severity"] == "error"]
    if not errors:
        return CompileError(f"phase {phase} failed without saying why")
    notes = [
        Note(str(d["message"]), frames[0].span if (frames := _frames(d)) else None)
        for d in diagnostics
        if d["severity"] == "note" and not str(d["message"]).startswith(_MLIR_DUMP)
    ]
    return CompileError(str(errors[0]["message"]), frames=_frames(errors[0]), notes=notes)


def _frames(diagnostic: Mapping[str, Any]) -> list[Frame]:
    """Return the known places of a diagnostic, innermost first."""
    return [
        Frame(
            Span(str(place["file"]), int(place["line"]), int(place["column"])),
            str(place.get("name", "kernel")),
        )
        for place in diagnostic["locations"]
        if place["line"] > 0
    ]


def _with_place(diagnostic: Mapping[str, Any]) -> str:
    frames = _frames(diagnostic)
    message = str(diagnostic["message"])
    return f"{message} ({frames[0].span})" if frames else message


def _dump(
    directory: Path, bytecode: bytes, target: Target, options: CompileOptions, compiled: Compiled
) -> None:
    texts = {"traced": module_text(bytecode), **compiled.phases}
    dump.write_phases(
        directory,
        f"{compiled.plan['symbol']}-{target.name}-{hashlib.sha256(bytecode).hexdigest()[:8]}",
        {phase: texts[phase] for phase in ("traced", *PHASES) if phase in texts},
        options.to_json(target),
        {"ptx": compiled.ptx.encode(), "cubin": compiled.cubin, "json": _pretty(compiled)},
    )


def _pretty(compiled: Compiled) -> bytes:
    return json.dumps({"plan": compiled.plan, **compiled.metadata()}, indent=2).encode()
