"""Layer normalization along the last axis."""

from __future__ import annotations

import tilec as tl
from tilec.kernels.shapes import Array, check_rank, check_shape, compute_type, row_tile


@tl.kernel
def layernorm_kernel(
    y: tl.Partition, x: tl.TensorView, weight: tl.TensorView, bias: tl.TensorView, eps: tl.Scalar
) -> None:
    """Whole rows of ``y = (x - mean) / sqrt(variance + eps) · weight + bias``.

    The row is read once; mean and variance are two passes over registers, which is exact where
    the mean of squares would cancel.

    Source: Ba, Kiros and Hinton, "Layer normalization", 2016.
    """
    _, n = y.tile_shape
    wide = compute_type(x.dtype)
    row = x.load_like(y).to(wide)
    centered = row - tl.sum(row, axis=-1, keepdims=True) / n
    variance = tl.sum(centered * centered, axis=-1, keepdims=True) / n
    scale = weight.load((0,), (n,)).to(wide)
    shift = bias.load((0,), (n,)).to(wide)
    y.store((centered * tl.rsqrt(variance + eps) * scale + shift).to(y.dtype))


def layernorm(y: Array, x: Array, weight: Array, bias: Array, eps: float = 1e-5) -> None:
    """Normalize every row of ``x`` to mean 0 and variance 1, scale and shift it, into ``y``.

    Shapes:
        y, x: (rows, columns); one row must fit into the registers of a program.
        weight, bias: (columns,)

    Raises:
        LaunchError: the shapes do not fit together, or the rank is not 2.
    """
    check_rank("y", y, 2)
    check_shape("x", x, y.shape)
    check_shape("weight", weight, y.shape[1:])
    check_shape("bias", bias, y.shape[1:])
    layernorm_kernel(tl.partition(y, row_tile(y.shape)), x, weight, bias, eps)


__tilec_examples__ = {
    "layernorm_kernel": "bf16[4096,4096]:partition(1,4096) bf16[4096,4096] "
    "bf16[4096] bf16[4096] 1e-5",
}
