"""Layer normalization over rows in Triton: two passes over a padded row in registers."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"ROWS": rows}, num_warps=warps)
        for rows, warps in [(1, 4), (1, 8), (1, 16), (1, 32), (2, 4), (4, 4), (4, 8)]
    ],
    key=["columns"],
    prune_configs_by={
        "early_config_prune": lambda configs, arguments, **_: [
            c for c in configs if c.kwargs["ROWS"] * arguments["columns"] <= 65536
        ]
    },
)
@triton.jit
def _layernorm(
    y, x, weight, bias, eps, rows, columns, stride_y, stride_x,
    WIDTH: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, WIDTH)[None, :]
    in_row = column < columns
    inside = (row < rows) & in_row
    value = tl.load(x + row * stride_x + column, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=1)[:, None] / columns
    centered = tl.where(in_row, value - mean, 0.0)
    variance = tl.sum(centered * centered, axis=1)[:, None] / columns
    scale = tl.load(weight + column, mask=in_row, other=0.0).to(tl.float32)
    shift = tl.load(bias + column, mask=in_row, other=0.0).to(tl.float32)
    result = centered * tl.rsqrt(variance + eps) * scale + shift
    tl.store(y + row * stride_y + column, result.to(y.dtype.element_ty), mask=inside)


def layernorm(
    y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float
) -> None:
    rows, columns = x.shape
    grid = lambda meta: (triton.cdiv(rows, meta["ROWS"]),)  # noqa: E731
    _layernorm[grid](
        y, x, weight, bias, eps, rows, columns, y.stride(0), x.stride(0),
        WIDTH=triton.next_power_of_2(columns),
    )  # fmt: skip
