"""Tables and JSON of benchmark outcomes, and the command line that every benchmark shares."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import environment
import harness
import torch

COPY = "copy"


def show(outcome: harness.Outcome) -> None:
    """Print one case as a table."""
    own = next(iter(outcome.timings))
    print(f"\n{outcome.case}")
    print(f"  {'':<12}{'median µs':>11}{'p20':>10}{'p80':>10}  {_unit(outcome):>9}"
          f"{'of copy':>9}{f'{own} is':>12}")  # fmt: skip
    for name, timing in outcome.timings.items():
        rate = (
            outcome.flops_per_s(name) / 1e12 if outcome.flops else outcome.bytes_per_s(name) / 1e9
        )
        faster = timing.median_us / outcome.timings[own].median_us
        print(
            f"  {name:<12}{timing.median_us:>11.1f}{timing.low_us:>10.1f}{timing.high_us:>10.1f}"
            f"  {rate:>9.1f}{_of_copy(outcome, name):>9}{faster:>11.2f}x"
        )
    for name, why in outcome.failures.items():
        print(f"  {name:<12}not timed: {why}")


def _unit(outcome: harness.Outcome) -> str:
    return "TFLOP/s" if outcome.flops else "GB/s"


def _of_copy(outcome: harness.Outcome, name: str) -> str:
    if COPY not in outcome.timings:
        return ""
    return f"{outcome.bytes_per_s(name) / outcome.bytes_per_s(COPY):.1%}"


def main(name: str, cases: Callable[[bool], Iterable[harness.Case]]) -> None:
    """Run a benchmark from the command line.

    Args:
        name: of the benchmark, in the JSON.
        cases: makes the cases; its argument asks for small ones.
    """
    parser = argparse.ArgumentParser(description=name)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="small shapes, to see that it works")
    parser.add_argument("--total-ms", type=float, default=harness.TOTAL_MS, help="per contender")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("this benchmark needs an NVIDIA GPU and a torch that sees it")
    torch.manual_seed(0)
    before = environment.describe()
    environment.show(before)
    outcomes: list[harness.Outcome] = []
    for case in cases(options.quick):
        outcome = harness.measure(case, total_ms=options.total_ms)
        show(outcome)
        outcomes.append(outcome)
        del case
        torch.cuda.empty_cache()
    print(f"\n  clocks after: {environment.clocks()}")
    if options.json:
        figures = {
            "benchmark": name,
            "environment": before,
            "clocks_after": environment.clocks(),
            "outcomes": [outcome.to_json() for outcome in outcomes],
        }
        options.json.write_text(json.dumps(figures, indent=2))
