"""Softmax over rows in Triton: some rows a program, padded to a power of two."""

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
def _softmax(y, x, rows, columns, stride_y, stride_x, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, WIDTH)[None, :]
    inside = (row < rows) & (column < columns)
    value = tl.load(x + row * stride_x + column, mask=inside, other=float("-inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, axis=1)[:, None])
    value = value / tl.sum(value, axis=1)[:, None]
    tl.store(y + row * stride_y + column, value.to(y.dtype.element_ty), mask=inside)


def softmax(y: torch.Tensor, x: torch.Tensor) -> None:
    rows, columns = x.shape
    grid = lambda meta: (triton.cdiv(rows, meta["ROWS"]),)  # noqa: E731
    _softmax[grid](
        y, x, rows, columns, y.stride(0), x.stride(0), WIDTH=triton.next_power_of_2(columns)
    )
