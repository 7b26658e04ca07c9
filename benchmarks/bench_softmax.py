"""Softmax over rows in bf16: ours, torch, Triton, against a plain copy."""

from __future__ import annotations

from collections.abc import Iterator

import baselines
import harness
import report
import torch

from tilec import kernels

SHAPES = [(65536, 1024), (32768, 4096), (8192, 16384), (16384, 12288), (32768, 1185)]


def cases(quick: bool) -> Iterator[harness.Case]:
    for rows, columns in [(512, 1024), (512, 1185)] if quick else SHAPES:
        x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
        yield harness.Case(
            f"softmax bf16 {rows}x{columns}",
            contenders(x),
            harness.check_close(reference(x), relative=2.0**-7, absolute=1e-6),
            moved_bytes=2 * x.numel() * x.element_size(),
        )


def reference(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.double(), dim=-1)


def contenders(x: torch.Tensor) -> dict[str, harness.Implementation]:
    ours, theirs = torch.empty_like(x), torch.empty_like(x)
    found = {
        "tilec": harness.Implementation(lambda: kernels.softmax(ours, x), ours),
        "torch": harness.Implementation(lambda: torch.softmax(x, dim=-1, out=theirs), theirs),
    }
    if triton := baselines.triton("softmax"):
        output = torch.empty_like(x)
        found["triton"] = harness.Implementation(lambda: triton.softmax(output, x), output)
    found[report.COPY] = harness.copy_of(2 * x.numel() * x.element_size())
    return found


if __name__ == "__main__":
    report.main("softmax", cases)
