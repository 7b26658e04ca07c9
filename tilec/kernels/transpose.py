"""Matrix transpose."""

from __future__ import annotations

import tilec as tl
from tilec.kernels.shapes import Array, check_rank, check_shape

TILE = (64, 64)


@tl.kernel
def transpose_kernel(y: tl.Partition, x: tl.TensorView) -> None:
    """One tile of ``y = x.T``: read along the rows of ``x``, written along the rows of ``y``."""
    i, j = y.index
    tm, tn = y.tile_shape
    y.store(x.load((j, i), (tn, tm)).T)


def transpose(y: Array, x: Array) -> None:
    """Write the transpose of ``x`` to ``y``.

    Shapes:
        y: (n, m)
        x: (m, n)

    Raises:
        LaunchError: the shapes do not fit together, or a rank is not 2.
    """
    check_rank("y", y, 2)
    check_shape("x", x, tuple(reversed(y.shape)))
    transpose_kernel(tl.partition(y, TILE), x)


__tilec_examples__ = {
    "transpose_kernel": "f32[4096,4096]:partition(64,64) f32[4096,4096]",
}
