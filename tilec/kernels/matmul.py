"""Matrix product."""

from __future__ import annotations

import tilec as tl
from tilec.kernels.shapes import Array, check_rank, check_shape

#: One tile of the product a program; smaller products take smaller tiles.
LARGEST_TILE = 128
SMALLEST_TILE = 16


@tl.kernel
def matmul_kernel(
    c: tl.Partition, a: tl.TensorView, b: tl.TensorView, *, tk: tl.Constant[int] = 64
) -> None:
    """One tile of ``c = a @ b``."""
    m, n = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((m, k), (tm, tk)), b.load((k, n), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


def matmul(c: Array, a: Array, b: Array) -> None:
    """Write the matrix product ``a @ b`` to ``c``, accumulated in f32.

    Shapes:
        c: (m, n)
        a: (m, k)
        b: (k, n)

    Raises:
        LaunchError: the shapes do not fit together, or a rank is not 2.
    """
    for name, array in (("c", c), ("a", a), ("b", b)):
        check_rank(name, array, 2)
    (m, n), k = c.shape, a.shape[1]
    check_shape("a", a, (m, k))
    check_shape("b", b, (k, n))
    matmul_kernel(tl.partition(c, (tile_extent(m), tile_extent(n))), a, b)


def tile_extent(size: int) -> int:
    """Return the smallest power of two that covers a dimension, within limits.

    Example:
        >>> tile_extent(4096), tile_extent(33), tile_extent(1)
        (128, 64, 16)
    """
    return min(max(1 << (size - 1).bit_length(), SMALLEST_TILE), LARGEST_TILE)


__tilec_examples__ = {
    "matmul_kernel": "bf16[4096,4096]:partition(128,128) bf16[4096,4096] bf16[4096,4096]",
}
