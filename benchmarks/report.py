"""Tables and JSON of benchmark outcomes, and the command line that every benchmark shares."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import environment
import harness
import torch

COPY = "copy"


def show(outcome: harness.Outcome) -> None:
    """Print one case as a table."""
    own = next(iter(outcome.timings), "")
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


def parser(name: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    made = argparse.ArgumentParser(description=name)
    made.add_argument("--json", type=Path, help="write the figures to this file")
    made.add_argument("--quick", action="store_true", help="small shapes, to see that it works")
    made.add_argument("--total-ms", type=float, default=harness.TOTAL_MS, help="per contender")
    return made


class Run:
    """One run of a benchmark: prints cases as they are measured, and keeps what they gave.

    Attributes:
        failures: cases in which ours was wrong or refused.
    """

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        if not torch.cuda.is_available():
            sys.exit("this benchmark needs an NVIDIA GPU and a torch that sees it")
        torch.manual_seed(0)
        self.failures: list[str] = []
        self._name = name
        self._options = options
        self._outcomes: list[harness.Outcome] = []
        self._before = environment.describe()
        environment.show(self._before)

    def measured(self, case: harness.Case) -> harness.Outcome:
        """Measure a case; one that ours fails has no timings."""
        try:
            outcome = harness.measure(case, total_ms=self._options.total_ms)
        except AssertionError as error:
            self.failures.append(case.name)
            outcome = harness.Outcome(case.name, case.moved_bytes, case.flops, {}, {"": str(error)})
        show(outcome)
        self._outcomes.append(outcome)
        torch.cuda.empty_cache()
        return outcome

    def write(self, **figures: Any) -> None:
        """Print the clocks, and write the figures if asked to."""
        print(f"\n  clocks after: {environment.clocks()}")
        if self._options.json:
            content = {
                "benchmark": self._name,
                "environment": self._before,
                "clocks_after": environment.clocks(),
                "outcomes": [outcome.to_json() for outcome in self._outcomes],
                **figures,
            }
            self._options.json.write_text(json.dumps(content, indent=2))


def main(name: str, cases: Callable[[bool], Iterable[harness.Case]]) -> None:
    """Run a benchmark from the command line.

    Args:
        name: of the benchmark, in the JSON.
        cases: makes the cases; its argument asks for small ones.
    """
    options = parser(name).parse_args()
    run = Run(name, options)
    for case in cases(options.quick):
        run.measured(case)
        del case
    run.write()
    if run.failures:
        sys.exit(f"wrong or refused: {', '.join(run.failures)}")
