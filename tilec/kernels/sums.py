"""Sums of a matrix along its rows and along its columns."""

from __future__ import annotations

import tilec as tl
from tilec.kernels.shapes import Array, check_rank, check_shape, compute_type

#: Rows of the output's programs, and the width of the tiles that walk along them.
ROW_TILE = (4, 1024)
#: Height of the tiles that walk down, and columns of the output's programs.
COLUMN_TILE = (32, 64)


@tl.kernel
def row_sum_kernel(y: tl.Partition, x: tl.TensorView, *, tn: tl.Constant[int]) -> None:
    """Sums of a few rows: tiles are added elementwise, then reduced once."""
    (i,) = y.index
    (tm,) = y.tile_shape
    wide = compute_type(x.dtype)
    acc = tl.zeros((tm, tn), wide)
    for k in range(x.num_tiles(1, tn)):
        acc = acc + x.load((i, k), (tm, tn)).to(wide)
    y.store(tl.sum(acc, axis=1).to(y.dtype))


@tl.kernel
def column_sum_kernel(y: tl.Partition, x: tl.TensorView, *, tm: tl.Constant[int]) -> None:
    """Sums of a few columns: tiles are added elementwise, then reduced once."""
    (j,) = y.index
    (tn,) = y.tile_shape
    wide = compute_type(x.dtype)
    acc = tl.zeros((tm, tn), wide)
    for k in range(x.num_tiles(0, tm)):
        acc = acc + x.load((k, j), (tm, tn)).to(wide)
    y.store(tl.sum(acc, axis=0).to(y.dtype))


def row_sum(y: Array, x: Array) -> None:
    """Write the sum of every row of ``x`` to ``y``, accumulated in f32 (f64 for an f64 array).

    Shapes:
        y: (rows,)
        x: (rows, columns)

    Raises:
        LaunchError: the shapes do not fit together.
    """
    check_rank("x", x, 2)
    check_shape("y", y, x.shape[:1])
    tm, tn = ROW_TILE
    row_sum_kernel(tl.partition(y, (tm,)), x, tn=tn)


def column_sum(y: Array, x: Array) -> None:
    """Write the sum of every column of ``x`` to ``y``, accumulated in f32 (f64 for an f64 array).

    Shapes:
        y: (columns,)
        x: (rows, columns)

    Raises:
        LaunchError: the shapes do not fit together.
    """
    check_rank("x", x, 2)
    check_shape("y", y, x.shape[1:])
    tm, tn = COLUMN_TILE
    column_sum_kernel(tl.partition(y, (tn,)), x, tm=tm)


__tilec_examples__ = {
    "row_sum_kernel": "f32[4096]:partition(4) f32[4096,4096] tn=1024",
    "column_sum_kernel": "f32[4096]:partition(64) f32[4096,4096] tm=32",
}
