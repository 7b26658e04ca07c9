"""Layer normalization over rows in bf16: ours, torch, Triton, against a plain copy."""

from __future__ import annotations

from collections.abc import Iterator

import baselines
import harness
import report
import torch

from tilec import kernels

SHAPES = [(65536, 1024), (32768, 4096), (8192, 16384), (16384, 12288), (32768, 1185)]
EPS = 1e-5


def cases(quick: bool) -> Iterator[harness.Case]:
    for rows, columns in [(512, 1024), (512, 1185)] if quick else SHAPES:
        x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
        weight, bias = (torch.randn(columns, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        wide = torch.nn.functional.layer_norm(
            x.double(), (columns,), weight.double(), bias.double(), EPS
        )
        yield harness.Case(
            f"layernorm bf16 {rows}x{columns}",
            contenders(x, weight, bias),
            harness.check_close(wide, relative=2.0**-7, absolute=2.0**-14),
            moved_bytes=2 * x.numel() * x.element_size(),
        )


def contenders(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> dict[str, harness.Implementation]:
    ours, theirs = torch.empty_like(x), torch.empty_like(x)

    def torch_layernorm() -> None:
        # No variant with out=: point the checked tensor at the fresh result.
        theirs.data = torch.nn.functional.layer_norm(x, weight.shape, weight, bias, EPS)

    found = {
        "tilec": harness.Implementation(
            lambda: kernels.layernorm(ours, x, weight, bias, EPS), ours
        ),
        "torch": harness.Implementation(torch_layernorm, theirs),
    }
    if triton := baselines.triton("layernorm"):
        output = torch.empty_like(x)
        found["triton"] = harness.Implementation(
            lambda: triton.layernorm(output, x, weight, bias, EPS), output
        )
    found[report.COPY] = harness.copy_of(2 * x.numel() * x.element_size())
    return found


if __name__ == "__main__":
    report.main("layernorm", cases)
