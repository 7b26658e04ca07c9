"""``tilec inspect``: the text of one kernel after a phase of the compiler."""

from __future__ import annotations

import argparse
import json

from tilec.commands.loading import choose_target, examples_of
from tilec.commands.plan_table import plan_lines
from tilec.compiler.disassemble import disassemble
from tilec.compiler.phases import PHASES, module_text
from tilec.jit.job import CompileJob

_CHOICES = ("traced", *PHASES, "ptx", "sass", "plan")


EPILOG = (
    "Phases: traced and tile (what the author said), tilegpu (layouts, shared memory, warps), "
    "lower and llvm, ptx, sass (machine code; needs nvdisasm or cuobjdump), plan (which tile "
    "tl.AUTO becomes and why, and how the kernel is launched)."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("place", metavar="FILE.py::kernel")
    parser.add_argument("--phase", choices=_CHOICES, default="tile")
    parser.add_argument("--target", help="such as sm_90a; the GPU's by default")
    parser.add_argument("--args", action="append", default=[], help="arguments to compile for")


def run(options: argparse.Namespace) -> int:
    """Compile and print."""
    target = choose_target(options.target)
    for example in examples_of(options.place, options.args):
        args, kwargs = example.arguments()
        request = example.kernel.request(*args, target=target.name, **kwargs)
        print(f"// {example.kernel.name}({example.text}), {target.name}, {options.phase}")
        if options.phase == "plan":
            explained = example.kernel.explain(*args, target=target.name, **kwargs)
            for line in plan_lines(explained) if explained else ():
                print(line)
        print(_text(CompileJob(request, (options.phase,)), options.phase).rstrip())
    return 0


def _text(job: CompileJob, phase: str) -> str:
    traced = job.trace()
    if phase == "traced":
        return module_text(traced.bytecode)
    compiled = job.build(traced)
    if phase == "ptx":
        return compiled.ptx
    if phase == "sass":
        return disassemble(compiled.cubin)
    if phase == "plan":
        return json.dumps({"plan": compiled.plan, **compiled.metadata()}, indent=2)
    return compiled.phases[phase]
