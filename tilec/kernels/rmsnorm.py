"""Root-mean-square normalization along the last axis."""

from __future__ import annotations

import tilec as tl
from tilec.kernels.shapes import Array, check_rank, check_shape, compute_type, row_tile


@tl.kernel
def rmsnorm_kernel(
    y: tl.Partition, x: tl.TensorView, weight: tl.TensorView, eps: tl.Scalar
) -> None:
    """Whole rows of ``y = x / sqrt(mean(x²) + eps) · weight``.

    Source: Zhang and Sennrich, "Root mean square layer normalization", 2019.
    """
    _, n = y.tile_shape
    wide = compute_type(x.dtype)
    row = x.load_like(y).to(wide)
    mean_square = tl.sum(row * row, axis=-1, keepdims=True) / n
    scale = weight.load((0,), (n,)).to(wide)
    y.store((row * tl.rsqrt(mean_square + eps) * scale).to(y.dtype))


def rmsnorm(y: Array, x: Array, weight: Array, eps: float = 1e-6) -> None:
    """Divide every row of ``x`` by its root mean square and scale it, into ``y``.

    Shapes:
        y, x: (rows, columns); one row must fit into the registers of a program.
        weight: (columns,)

    Raises:
        LaunchError: the shapes do not fit together, or the rank is not 2.
    """
    check_rank("y", y, 2)
    check_shape("x", x, y.shape)
    check_shape("weight", weight, y.shape[1:])
    rmsnorm_kernel(tl.partition(y, row_tile(y.shape)), x, weight, eps)


__tilec_examples__ = {
    "rmsnorm_kernel": "bf16[4096,4096]:partition(1,4096) bf16[4096,4096] bf16[4096] 1e-6",
}
