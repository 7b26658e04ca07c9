"""Products of a mixture of experts in bf16: one grouped launch, a loop over cuBLAS, torch's own.

Rows are routed at random, some experts get many and some none. Everything is timed as a CUDA graph,
which takes the host out; "host included" are the same calls without one, which the host of a
program pays for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import harness
import report
import torch

from tilec import kernels

CHECKED_ROWS = 512
UNIT_F32, UNIT_BF16 = 2.0**-24, 2.0**-8


@dataclass(frozen=True)
class Experts:
    """One layer.

    Attributes:
        count: of experts.
        rows: of all experts together.
        k: features of a row.
        n: features of a result.
        transposed: whether weights are stored by columns.
    """

    count: int
    rows: int
    k: int
    n: int
    transposed: bool = False

    @property
    def name(self) -> str:
        """Return what the layer is called in tables."""
        stored = " b.T" if self.transposed else ""
        return f"{self.count} experts, {self.rows} rows, {self.k} -> {self.n}{stored}"

    def routed(self) -> list[int]:
        """Return how many rows each expert gets: some are preferred, one has none."""
        wanted = torch.rand(self.count).square()
        wanted[self.count // 2] = 0
        chosen = torch.multinomial(wanted, self.rows, replacement=True)
        return torch.bincount(chosen, minlength=self.count).tolist()


LAYERS = [
    Experts(64, 16384, 2048, 1408),
    Experts(64, 16384, 2048, 1408, transposed=True),
    Experts(64, 65536, 2048, 2816),
    Experts(8, 16384, 4096, 14336),
    Experts(128, 8192, 2048, 1536),
    Experts(64, 512, 2048, 1408),
    Experts(64, 128, 2048, 1408, transposed=True),
]
QUICK = [Experts(8, 300, 128, 256), Experts(5, 64, 256, 128, transposed=True)]


@dataclass(frozen=True)
class Layer:
    """The arrays of a layer; outputs of experts are slices of one array."""

    x: torch.Tensor
    weights: torch.Tensor
    ends: torch.Tensor
    spans: list[slice]

    @classmethod
    def random(cls, experts: Experts) -> Layer:
        """Return new arrays, normal, and a new routing."""
        counts = experts.routed()
        ends = torch.tensor(counts).cumsum(0).to(torch.int32)
        stops = ends.tolist()
        spans = [slice(stop - count, stop) for stop, count in zip(stops, counts, strict=True)]
        shape = (experts.n, experts.k) if experts.transposed else (experts.k, experts.n)
        weights = torch.randn(experts.count, *shape, device="cuda").to(torch.bfloat16)
        x = torch.randn(experts.rows, experts.k, device="cuda").to(torch.bfloat16)
        return cls(x, weights.mT if experts.transposed else weights, ends.cuda(), spans)

    def output(self) -> torch.Tensor:
        """Return a result to be written."""
        return self.x.new_empty(len(self.x), self.weights.shape[2])

    def check(self) -> Callable[[torch.Tensor], None]:
        """Return a check of some rows against float64."""
        chosen = torch.randperm(len(self.x), device="cuda")[:CHECKED_ROWS].sort().values
        owner = torch.bucketize(chosen, self.ends, right=True)
        x = self.x[chosen].double()
        exact, size = (x.new_zeros(len(chosen), self.weights.shape[2]) for _ in range(2))
        for number in owner.unique().tolist():
            rows, w = owner == number, self.weights[number].double()
            exact[rows], size[rows] = x[rows] @ w, x[rows].abs() @ w.abs()
        allowed = 4 * x.shape[1] * UNIT_F32 * size + UNIT_BF16 * exact.abs()

        def check(output: torch.Tensor) -> None:
            assert bool(torch.isfinite(output).all()), "an element is not finite"
            error = (output[chosen].double() - exact).abs()
            worst = float((error / allowed).nan_to_num(0.0).max())
            assert bool((error <= allowed).all()), f"off by {worst:.3g} bounds"

        return check


def cases(quick: bool) -> Iterator[harness.Case]:
    for experts in QUICK if quick else LAYERS:
        layer = Layer.random(experts)
        yield harness.Case(
            experts.name,
            contenders(layer),
            layer.check(),
            moved_bytes=2 * (layer.x.numel() + layer.weights.numel() + experts.rows * experts.n),
            flops=2 * experts.rows * experts.k * experts.n,
        )


_Make = Callable[[torch.Tensor], Callable[[], Any]]
_Wrap = Callable[[Callable[[], Any]], Callable[[], Any]]


def contenders(layer: Layer) -> dict[str, harness.Implementation]:
    ways: dict[str, _Make] = {
        "tilec": lambda c: _own(layer, c),
        "loop of torch.mm": lambda c: _loop(layer, c),
    }
    if hasattr(torch, "_grouped_mm"):
        ways["torch._grouped_mm"] = lambda c: _torch(layer, c)
    found: dict[str, harness.Implementation] = {}
    for suffix, wrap in (("", harness.graphed), (", host included", lambda run: run)):
        for name, make in ways.items():
            output = layer.output()
            if run := _tried(wrap, make, output):
                found[name + suffix] = harness.Implementation(run, output)
    return found


def _tried(wrap: _Wrap, make: _Make, output: torch.Tensor) -> Callable[[], None] | None:
    """Return what a peer can do; torch refuses some layouts, and graphs of some of its calls."""
    try:
        return wrap(make(output))
    except RuntimeError as error:
        print(f"  left out: {str(error).splitlines()[0]}")
        return None


def _own(layer: Layer, c: torch.Tensor) -> Callable[[], None]:
    def run() -> None:
        kernels.grouped_matmul(
            [
                (c[span], layer.x[span], weights)
                for span, weights in zip(layer.spans, layer.weights, strict=True)
            ]
        )

    return run


def _loop(layer: Layer, c: torch.Tensor) -> Callable[[], None]:
    def run() -> None:
        for span, weights in zip(layer.spans, layer.weights, strict=True):
            if span.start != span.stop:
                torch.mm(layer.x[span], weights, out=c[span])

    return run


def _torch(layer: Layer, c: torch.Tensor) -> Callable[[], None]:
    def run() -> None:
        c.copy_(torch._grouped_mm(layer.x, layer.weights, offs=layer.ends))

    run()
    return run


if __name__ == "__main__":
    report.main("grouped", cases)
