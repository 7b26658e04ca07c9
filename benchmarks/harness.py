"""Fair timing on one GPU.

What makes two figures comparable here:

- every implementation is checked against a float64 reference before it is timed;
- inputs are random normal: constant data lets the chip clock higher than real data does;
- a buffer larger than the L2 cache is read before every call (read, not written: dirty lines
  would be written back at the expense of the kernel that follows);
- implementations take turns in blocks of a few milliseconds, so that the clocks that one of them
  leaves behind, and the power it used, meet the others too;
- only ratios within one case of one run mean anything.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

BLOCK_MS = 6.0
TOTAL_MS = 100.0
WARM_UP_CALLS = 3
_ESTIMATE_CALLS = 5
_L2_MULTIPLE = 4


@dataclass(frozen=True)
class Implementation:
    """One way to compute a case.

    Attributes:
        run: starts the work on the current stream and returns without waiting.
        output: where the result lands, or None for one that is not checked (a plain copy).
        moved_bytes: when it moves other amounts of data than the case says.
    """

    run: Callable[[], None]
    output: torch.Tensor | None
    moved_bytes: int | None = None


@dataclass(frozen=True)
class Case:
    """One input shape of one operator.

    Attributes:
        name: for the table.
        implementations: the first is ours.
        check: raises AssertionError when an output is wrong.
        moved_bytes: the least that must cross the memory bus, each way counted.
        flops: floating-point operations, 0 where they do not matter.
    """

    name: str
    implementations: Mapping[str, Implementation]
    check: Callable[[torch.Tensor], None]
    moved_bytes: int
    flops: int = 0


@dataclass(frozen=True)
class Timing:
    """How long one implementation took.

    Attributes:
        median_us: the median call.
        low_us: a fifth of the calls were faster.
        high_us: a fifth were slower.
        calls: how many were timed.
    """

    median_us: float
    low_us: float
    high_us: float
    calls: int


@dataclass(frozen=True)
class Outcome:
    """A timed case: one timing an implementation, or why there is none."""

    case: str
    moved_bytes: int
    flops: int
    timings: dict[str, Timing]
    failures: dict[str, str]
    own_bytes: dict[str, int] = field(default_factory=lambda: {})

    def bytes_per_s(self, name: str) -> float:
        """Return the rate at which an implementation moved its bytes."""
        moved = self.own_bytes.get(name, self.moved_bytes)
        return moved / (self.timings[name].median_us * 1e-6)

    def flops_per_s(self, name: str) -> float:
        """Return the arithmetic rate of an implementation."""
        return self.flops / (self.timings[name].median_us * 1e-6)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        rows = {
            name: {
                "median_us": timing.median_us,
                "low_us": timing.low_us,
                "high_us": timing.high_us,
                "calls": timing.calls,
                "gb_per_s": self.bytes_per_s(name) / 1e9,
                "tflop_per_s": self.flops_per_s(name) / 1e12,
            }
            for name, timing in self.timings.items()
        }
        return {"case": self.case, "implementations": rows, "failures": self.failures}


class Flusher:
    """Fills the L2 cache with clean lines that no kernel wants."""

    def __init__(self) -> None:
        l2_bytes = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
        self._buffer = torch.zeros(_L2_MULTIPLE * l2_bytes // 4, dtype=torch.int32, device="cuda")
        self._result = torch.empty((), dtype=torch.int32, device="cuda")

    def __call__(self) -> None:
        """Queue one flush."""
        torch.amax(self._buffer, dim=0, out=self._result)


def measure(case: Case, *, block_ms: float = BLOCK_MS, total_ms: float = TOTAL_MS) -> Outcome:
    """Check every implementation of a case, then time those that are right.

    Raises:
        AssertionError: the first implementation, ours, gives a wrong result.
    """
    failures = _check(case)
    own = next(iter(case.implementations))
    if own in failures:
        raise AssertionError(f"{case.name}: {own}: {failures[own]}")
    candidates = {n: i for n, i in case.implementations.items() if n not in failures}
    flush = Flusher()
    calls = {
        name: max(1, round(block_ms / _estimate_ms(implementation.run, flush)))
        for name, implementation in candidates.items()
    }
    samples_us: dict[str, list[float]] = {name: [] for name in candidates}
    while any(sum(samples) < total_ms * 1e3 for samples in samples_us.values()):
        for name, implementation in candidates.items():
            samples_us[name] += _block(implementation.run, flush, calls[name])
    own_bytes = {n: i.moved_bytes for n, i in candidates.items() if i.moved_bytes is not None}
    timings = {name: _summary(samples) for name, samples in samples_us.items()}
    return Outcome(case.name, case.moved_bytes, case.flops, timings, failures, own_bytes)


def _check(case: Case) -> dict[str, str]:
    """Run each implementation into a poisoned output; return what was wrong."""
    failures: dict[str, str] = {}
    for name, implementation in case.implementations.items():
        if implementation.output is None:
            continue
        implementation.output.fill_(_poison(implementation.output.dtype))
        try:
            implementation.run()
            torch.cuda.synchronize()
            case.check(implementation.output)
        except Exception as error:  # a peer that fails is reported, not fatal
            failures[name] = f"{type(error).__name__}: {error}"
    return failures


def _poison(dtype: torch.dtype) -> float:
    return float("nan") if dtype.is_floating_point else torch.iinfo(dtype).min


def _estimate_ms(run: Callable[[], None], flush: Flusher) -> float:
    for _ in range(WARM_UP_CALLS):
        run()
    return max(statistics.median(_block(run, flush, _ESTIMATE_CALLS)) * 1e-3, 1e-3)


def _block(run: Callable[[], None], flush: Flusher, calls: int) -> list[float]:
    """Time some calls, each on its own; the flush before it hides the host's launch time."""
    starts = [torch.cuda.Event(enable_timing=True) for _ in range(calls)]
    ends = [torch.cuda.Event(enable_timing=True) for _ in range(calls)]
    for start, end in zip(starts, ends, strict=True):
        flush()
        start.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in zip(starts, ends, strict=True)]


def _summary(samples_us: list[float]) -> Timing:
    ordered = sorted(samples_us)
    fifth = len(ordered) // 5
    return Timing(statistics.median(ordered), ordered[fifth], ordered[-1 - fifth], len(ordered))


def graphed(run: Callable[[], None]) -> Callable[[], None]:
    """Capture a call into a CUDA graph, and return its replay.

    For calls so short that the host could not keep up with the GPU otherwise.
    """
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP_CALLS):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def copy_of(moved_bytes: int) -> Implementation:
    """Return a plain copy that moves so many bytes (half of them each way): the yardstick."""
    source = torch.randn(moved_bytes // 8, device="cuda")
    target = torch.empty_like(source)

    def run() -> None:
        target.copy_(source)

    return Implementation(run, None, 2 * source.numel() * source.element_size())


def check_close(
    reference: torch.Tensor, *, relative: float, absolute: float
) -> Callable[[torch.Tensor], None]:
    """Return a check against a float64 reference; NaN anywhere fails it."""

    def check(output: torch.Tensor) -> None:
        error = (output.double() - reference).abs()
        allowed = absolute + relative * reference.abs()
        if not bool((error <= allowed).all()):
            bad = int((~(error <= allowed)).sum())
            worst = float((error / allowed).nan_to_num(float("inf")).max())
            raise AssertionError(f"{bad} elements off, the worst by {worst:.3g} tolerances")

    return check
