"""Run every benchmark, each in its own process, and keep its table and its figures.

python benchmarks/run_all.py --out DIR
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = (
    "bench_add",
    "bench_softmax",
    "bench_layernorm",
    "bench_matmul",
    "bench_grouped",
    "launch_overhead",
    "compile_time",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="directory for tables and JSON")
    parser.add_argument("--quick", action="store_true", help="small shapes, few repeats")
    parser.add_argument("--only", nargs="*", choices=BENCHMARKS, default=BENCHMARKS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    failed = [name for name in options.only if not run(name, options.out, options.quick)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def run(name: str, out: Path, quick: bool) -> bool:
    """Run one benchmark; return whether it succeeded."""
    print(f"== {name}", flush=True)
    command = [sys.executable, str(HERE / f"{name}.py"), "--json", str(out / f"{name}.json")]
    start = time.monotonic()
    table = out / f"{name}.txt"
    with table.open("w") as stream:
        done = subprocess.run(
            command + ["--quick"] * quick, stdout=stream, stderr=subprocess.STDOUT, check=False
        )
    print(table.read_text(), end="")
    print(f"== {name}: exit {done.returncode}, {time.monotonic() - start:.0f} s\n", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    main()
