"""Matrix product."""

from __future__ import annotations

import tilec as tl
from tilec.kernels.shapes import Array, check_rank, check_shape


@tl.kernel(max_spills=0)
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
    matmul_kernel(tl.partition(c, tl.AUTO), a, b)


__tilec_examples__ = {
    "matmul_kernel": "bf16[4096,4096]:partition(auto) bf16[4096,4096] bf16[4096,4096]",
}
