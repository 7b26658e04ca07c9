"""Elementwise f32 addition: ours, torch, Triton, against a plain copy."""

from __future__ import annotations

from collections.abc import Iterator

import baselines
import harness
import report
import torch

from tilec import kernels


def cases(quick: bool) -> Iterator[harness.Case]:
    for size in [1 << 20] if quick else [1 << 28, (1 << 28) - 77]:
        x, y = (torch.randn(size, device="cuda") for _ in range(2))
        yield harness.Case(
            f"add f32 {size}",
            contenders(x, y),
            harness.check_close(x.double() + y.double(), relative=2.0**-24, absolute=0.0),
            moved_bytes=3 * size * 4,
        )


def contenders(x: torch.Tensor, y: torch.Tensor) -> dict[str, harness.Implementation]:
    ours, theirs = torch.empty_like(x), torch.empty_like(x)
    found = {
        "tilec": harness.Implementation(lambda: kernels.add(ours, x, y), ours),
        "torch": harness.Implementation(lambda: torch.add(x, y, out=theirs), theirs),
    }
    if triton := baselines.triton("add"):
        output = torch.empty_like(x)
        found["triton"] = harness.Implementation(lambda: triton.add(output, x, y), output)
    found[report.COPY] = harness.copy_of(3 * x.numel() * x.element_size())
    return found


if __name__ == "__main__":
    report.main("add", cases)
