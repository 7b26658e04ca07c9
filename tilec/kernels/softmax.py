"""Softmax along the last axis."""

from __future__ import annotations

import tilec as tl
from tilec.kernels.shapes import Array, check_rank, check_shape, compute_type, row_tile


@tl.kernel
def softmax_kernel(y: tl.Partition, x: tl.TensorView) -> None:
    """Whole rows of ``y = softmax(x)``; they stay in registers between the passes.

    Source: subtracting the row's maximum first is the stable form of Blanchard, Higham and Higham,
    "Accurately computing the log-sum-exp and softmax functions", 2021.
    """
    row = x.load_like(y).to(compute_type(x.dtype))
    # The hardware approximation is far finer than a 16-bit result.
    e = tl.exp(row - tl.max(row, axis=-1, keepdims=True), fast=y.dtype.bits <= 16)
    # One division a row instead of one an element, for half an ulp of the compute type.
    y.store((e * (1.0 / tl.sum(e, axis=-1, keepdims=True))).to(y.dtype))


def softmax(y: Array, x: Array) -> None:
    """Write the softmax of every row of ``x`` to ``y``.

    Shapes:
        y, x: (rows, columns); one row must fit into the registers of a program.

    Raises:
        LaunchError: the shapes differ, or the rank is not 2.
    """
    check_rank("y", y, 2)
    check_shape("x", x, y.shape)
    softmax_kernel(tl.partition(y, row_tile(y.shape)), x)


__tilec_examples__ = {
    "softmax_kernel": "bf16[4096,4096]:partition(1,4096) bf16[4096,4096]",
}
