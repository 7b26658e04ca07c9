"""Matrix product in bf16: ours, cuBLAS (by way of torch), Triton with autotuning."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import baselines
import harness
import report
import torch

from tilec import kernels

SHAPES = [(4096, 4096, 4096), (8192, 8192, 8192), (2048, 2048, 2048), (4095, 4097, 4099)]
QUICK_SHAPES = [(256, 256, 256), (255, 129, 77)]
UNIT_F32, UNIT_BF16 = 2.0**-24, 2.0**-8


def cases(quick: bool) -> Iterator[harness.Case]:
    for m, n, k in QUICK_SHAPES if quick else SHAPES:
        a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(k, n, device="cuda", dtype=torch.bfloat16)
        yield harness.Case(
            f"matmul bf16 {m}x{n}x{k}",
            contenders(a, b),
            check_product(a, b),
            moved_bytes=2 * (m * k + k * n + m * n),
            flops=2 * m * n * k,
        )


def check_product(a: torch.Tensor, b: torch.Tensor) -> Callable[[torch.Tensor], None]:
    """Return a check of some rows against float64; all rows of a large product would take long."""
    rows = torch.randperm(a.shape[0], device=a.device)[:512]
    some, wide = a[rows].double(), b.double()
    exact = some @ wide
    size = some.abs() @ wide.abs()
    allowed = 4 * a.shape[1] * UNIT_F32 * size + UNIT_BF16 * exact.abs()

    def check(output: torch.Tensor) -> None:
        assert bool(torch.isfinite(output).all()), "an element is not finite"
        error = (output[rows].double() - exact).abs()
        assert bool((error <= allowed).all()), f"off by {float((error / allowed).max()):.3g} bounds"

    return check


def contenders(a: torch.Tensor, b: torch.Tensor) -> dict[str, harness.Implementation]:
    ours, theirs, output = (a.new_empty(a.shape[0], b.shape[1]) for _ in range(3))
    found = {
        "tilec": harness.Implementation(lambda: kernels.matmul(ours, a, b), ours),
        "cublas": harness.Implementation(lambda: torch.mm(a, b, out=theirs), theirs),
    }
    if triton := baselines.triton("matmul"):
        found["triton"] = harness.Implementation(lambda: triton.matmul(output, a, b), output)
    return found


if __name__ == "__main__":
    report.main("matmul", cases)
