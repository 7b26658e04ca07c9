"""``tilec compile``: kernels of a file to machine code, for any target, without a GPU."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tilec.commands.loading import Example, choose_target, examples_of
from tilec.compiler.target import Target
from tilec.jit.cache import DiskCache, Found
from tilec.jit.job import CompileJob

EPILOG = (
    "Arguments are described as in: "
    "--args 'bf16[4096,4096]:partition(1,4096) bf16[4096,4096] 1e-5 tk=64'. "
    "Without --args the module's table __tilec_examples__ has them."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("place", metavar="FILE.py[::kernel]")
    parser.add_argument("--target", action="append", help="such as sm_90a; may be repeated")
    parser.add_argument("--args", action="append", default=[], help="arguments to compile for")
    parser.add_argument("--output", type=Path, help="directory for cubin, PTX and launch plan")


def run(options: argparse.Namespace) -> int:
    """Compile everything asked for and print a line for each."""
    from rich.console import Console
    from rich.table import Table

    cache = DiskCache.from_settings()
    table = Table("kernel", "target", "from", "ms", "KiB", "regs", "spills", "assembler")
    examples = examples_of(options.place, options.args)
    targets = [choose_target(name) for name in options.target or [None]]
    for number, example in enumerate(examples):
        for target in targets:
            found = _compile(cache, example, target)
            table.add_row(*_row(example, target, found))
            if options.output is not None:
                _write(options.output, f"{example.kernel.name}-{number}-{target.name}", found)
    Console().print(table)
    return 0


def _compile(cache: DiskCache, example: Example, target: Target) -> Found:
    args, kwargs = example.arguments()
    request = example.kernel.request(*args, target=target.name, **kwargs)
    found = cache.obtain(request, CompileJob(request))
    example.kernel.check_contract(request, found.entry.metadata)
    return found


def _row(example: Example, target: Target, found: Found) -> list[str]:
    entry = found.entry
    resources: dict[str, Any] = entry.metadata.get("resources") or {}
    spills = max(resources.get("spill_store_bytes", 0), resources.get("spill_load_bytes", 0))
    return [
        example.kernel.name,
        target.name,
        found.origin,
        f"{1e3 * found.seconds:.1f}",
        f"{len(entry.cubin) / 1024:.1f}",
        str(resources.get("registers", "?")),
        str(spills if resources else "?"),
        str(entry.metadata.get("assembler", "?")),
    ]


def _write(directory: Path, stem: str, found: Found) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    entry = found.entry
    (directory / f"{stem}.cubin").write_bytes(entry.cubin)
    (directory / f"{stem}.ptx").write_text(entry.ptx)
    plan = {"plan": json.loads(entry.plan), **entry.metadata}
    (directory / f"{stem}.json").write_text(json.dumps(plan, indent=2) + "\n")
