"""Elementwise sum."""

from __future__ import annotations

import tilec as tl
from tilec.kernels.shapes import Array, check_shape, flat_tile


@tl.kernel
def add_kernel(z: tl.Partition, x: tl.TensorView, y: tl.TensorView) -> None:
    """One tile of ``z = x + y``."""
    z.store((x.load_like(z) + y.load_like(z)).to(z.dtype))


def add(z: Array, x: Array, y: Array) -> None:
    """Write ``x + y`` to ``z``.

    Shapes:
        z, x, y: all equal, of any rank.

    Raises:
        LaunchError: the shapes differ.
    """
    check_shape("x", x, z.shape)
    check_shape("y", y, z.shape)
    add_kernel(tl.partition(z, flat_tile(z.shape)), x, y)


__tilec_examples__ = {
    "add_kernel": "f32[1048576]:partition(4096) f32[1048576] f32[1048576]",
}
