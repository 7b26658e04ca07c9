"""Matrix product in Triton, with grouped rasterization and autotuning, for any element type."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_CONFIGS = [
    triton.Config(
        {"TM": tm, "TN": tn, "STEP_BYTES": step, "GROUP": 8}, num_warps=warps, num_stages=stages
    )
    for tm, tn, step, warps, stages in [
        (128, 256, 128, 8, 3),
        (128, 256, 128, 8, 4),
        (256, 128, 128, 8, 3),
        (128, 128, 128, 8, 4),
        (128, 128, 128, 4, 4),
        (128, 128, 256, 8, 3),
        (128, 64, 128, 4, 5),
        (64, 128, 128, 4, 5),
        (64, 64, 128, 4, 5),
    ]
]


@triton.autotune(configs=_CONFIGS, key=["m", "n", "k", "stride_ak", "stride_bk"])
@triton.jit
def _matmul(
    c, a, b, m, n, k, stride_cm, stride_am, stride_ak, stride_bk, stride_bn,
    TM: tl.constexpr, TN: tl.constexpr, STEP_BYTES: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    TK: tl.constexpr = STEP_BYTES * 8 // a.dtype.element_ty.primitive_bitwidth
    program = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(m, TM), tl.cdiv(n, TN)
    per_group = GROUP * tiles_n
    first = program // per_group * GROUP
    height = min(tiles_m - first, GROUP)
    i = first + program % per_group % height
    j = program % per_group // height

    row = i * TM + tl.arange(0, TM)
    column = j * TN + tl.arange(0, TN)
    inner = tl.arange(0, TK)
    # Rows past the end read some row again: the store drops what comes of it.
    a_at = a + (row % m)[:, None] * stride_am + inner[None, :] * stride_ak
    b_at = b + inner[:, None] * stride_bk + (column % n)[None, :] * stride_bn
    # All of an f32 product's operands are shortened to tf32, which is Triton's default.
    acc = tl.zeros((TM, TN), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for done in range(0, k, TK):
        left = inner[None, :] < k - done
        lhs = tl.load(a_at, mask=left, other=0.0)
        rhs = tl.load(b_at, mask=inner[:, None] < k - done, other=0.0)
        acc = tl.dot(lhs, rhs, acc)
        a_at += TK * stride_ak
        b_at += TK * stride_bk
    inside = (row < m)[:, None] & (column < n)[None, :]
    c_at = c + row.to(tl.int64)[:, None] * stride_cm + column[None, :]
    tl.store(c_at, acc.to(c.dtype.element_ty), mask=inside)


def matmul(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    (m, k), n = a.shape, b.shape[1]
    grid = lambda meta: (triton.cdiv(m, meta["TM"]) * triton.cdiv(n, meta["TN"]),)  # noqa: E731
    _matmul[grid](c, a, b, m, n, k, c.stride(0), a.stride(0), a.stride(1), b.stride(0), b.stride(1))
