"""``tilec inspect``: the text of one kernel after a phase of the compiler."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tilec.commands.decision_report import decision_lines
from tilec.commands.loading import choose_target, examples_of
from tilec.commands.plan_table import plan_lines
from tilec.compiler.disassemble import disassemble
from tilec.compiler.phases import PHASES, module_text
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
            explained = example.kernel.explain(*args, target=target.name, **kwargs)
            lines = _plan_lines(job, explained)
        else:
            lines = [_text(job, options.phase)]
        for line in lines:
            print(line.rstrip())
    return 0


def _plan_lines(job: CompileJob, explained: Mapping[str, Any] | None) -> Iterator[str]:
    compiled = job.build(job.trace())
    if explained:
        yield from plan_lines(explained)
    else:
        tile = compiled.plan["grid"].get("tile")
        yield f"tile {tuple(tile)} of the author's" if tile else "no tile: a kernel with grid="
    yield from decision_lines(compiled.decisions)
    yield json.dumps({"plan": compiled.plan, **compiled.metadata()}, indent=2)


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
