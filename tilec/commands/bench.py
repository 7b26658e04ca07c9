"""``tilec bench``: run the benchmarks of a checkout, a process each."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tilec.commands.loading import CommandError

_WITHOUT_PREFIX = ("launch_overhead.py", "compile_time.py")


EPILOG = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as softmax; all by default")
    parser.add_argument("--directory", type=Path, default=Path("benchmarks"))
    parser.add_argument("--quick", action="store_true", help="small shapes, few repeats")


def run(options: argparse.Namespace) -> int:
    """Run each benchmark; return how many failed, at most 1."""
    flags = ["--quick"] if options.quick else []
    failed = [
        path.stem
        for path in _benchmarks(options.directory, options.names)
        if subprocess.run([sys.executable, str(path), *flags]).returncode != 0
    ]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return min(len(failed), 1)


def _benchmarks(directory: Path, names: list[str]) -> list[Path]:
    paths = [*sorted(directory.glob("bench_*.py")), *map(directory.joinpath, _WITHOUT_PREFIX)]
    found = {path.stem.removeprefix("bench_"): path for path in paths if path.is_file()}
    if not found:
        raise CommandError(
            f"there are no benchmarks in {directory}",
            hint="run it in a checkout of tilec, or name the place with --directory",
        )
    unknown = [name for name in names if name not in found]
    if unknown:
        raise CommandError(f"no benchmark {unknown[0]!r}, expected one of {', '.join(found)}")
    return [found[name] for name in names] if names else list(found.values())
