"""``tilec inspect``: the text of one kernel after a phase of the compiler."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tilec.commands.decision_report import decision_lines, resource_lines
from tilec.commands.loading import Example, choose_target, examples_of
from tilec.commands.plan_table import plan_lines, rival_lines
from tilec.compiler.disassemble import disassemble
from tilec.compiler.phases import PHASES, module_text
from tilec.diagnostics import TilecError
from tilec.jit.job import CompileJob

_CHOICES = ("traced", *PHASES, "ptx", "sass", "plan")


EPILOG = (
    "Phases: traced and tile (what the author said), tilegpu (layouts, shared memory, warps), "
    "lower and llvm, ptx, sass (machine code; needs nvdisasm or cuobjdump), plan (which tile "
    "tl.AUTO becomes and why; what each product, load and store becomes, and what stood in the "
    "way of wgmma and TMA; how the kernel is launched)."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("place", metavar="FILE.py::kernel")
    parser.add_argument("--phase", choices=_CHOICES, default="tile")
    parser.add_argument("--target", help="such as sm_90a; the GPU's by default")
    parser.add_argument("--args", action="append", default=[], help="arguments to compile for")


def run(options: argparse.Namespace) -> int:
    """Compile and print."""
    examples = examples_of(options.place, options.args)
    target = choose_target(options.target)
    for example in examples:
        args, kwargs = example.arguments()
        request = example.kernel.request(*args, target=target.name, **kwargs)
        print(f"// {example.kernel.name}({example.text}), {target.name}, {options.phase}")
        job = CompileJob(request, (options.phase,), explain=options.phase == "plan")
        if options.phase == "plan":
            lines = _plan_lines(job, example, target.name)
        else:
            lines = [_text(job, options.phase)]
        for line in lines:
            print(line.rstrip())
    return 0


def _plan_lines(job: CompileJob, example: Example, target: str) -> Iterator[str]:
    compiled = job.build(job.trace())
    args, kwargs = example.arguments()
    explained = example.kernel.explain(*args, target=target, **kwargs)
    tile = compiled.plan["grid"].get("tile")
    if explained:
        yield from plan_lines(explained)
    elif tile:
        yield f"tile {tuple(tile)} of the author's"
        free = _explained_as_auto(example, target)
        yield from rival_lines(free, tile) if free else ()
    else:
        yield "no tile: a kernel with grid="
    yield from decision_lines(compiled.decisions)
    yield from resource_lines(compiled.resources)
    yield json.dumps({"plan": compiled.plan, **compiled.metadata()}, indent=2)


def _explained_as_auto(example: Example, target: str) -> Mapping[str, Any] | None:
    """Return what tl.AUTO would do; None for a kernel that is right for its author's tile only."""
    args, kwargs = example.arguments()
    try:
        return example.kernel.explain(*args, target=target, as_auto=True, **kwargs)
    except TilecError:
        return None


def _text(job: CompileJob, phase: str) -> str:
    traced = job.trace()
    if phase == "traced":
        return module_text(traced.bytecode)
    compiled = job.build(traced)
    if phase == "ptx":
        return compiled.ptx
    if phase == "sass":
        return disassemble(compiled.cubin)
    return compiled.phases[phase]
