"""What the kernels that multiply matrices share: dtypes, steps along K, shape checks."""

from __future__ import annotations

import tilec as tl
from tilec.kernels.shapes import Array, check_shape

#: Bytes of a row of A, or of a column of B, that one step of a product takes: a line of memory.
STEP_BYTES = 128


def step(dtype: tl.DType) -> int:
    """Return how many elements along K one step of a product takes.

    Example:
        >>> step(tl.bfloat16), step(tl.int8)
        (64, 128)
    """
    return 8 * STEP_BYTES // dtype.bits


def accumulator(dtype: tl.DType) -> tl.DType:
    """Return the dtype that products of a dtype are added up in: f32, f64 for f64, else i32.

    Example:
        >>> accumulator(tl.float8_e4m3fn), accumulator(tl.uint8)
        (float32, int32)
    """
    if dtype.is_float:
        return tl.float64 if dtype == tl.float64 else tl.float32
    return tl.int32


def operand(tile: tl.Tile, tf32: bool) -> tl.Tile:
    """Return a tile as an operand of a product; f32 is shortened to tf32 only if asked."""
    return tile.to(tl.tfloat32) if tf32 and tile.dtype == tl.float32 else tile


def is_fp8(array: Array) -> bool:
    """Return whether an array of any library holds 8-bit floats."""
    return "float8" in str(getattr(array, "dtype", ""))


def check_product(c: Array, a: Array, b: Array) -> None:
    """Refuse matrices, or stacks of matrices, whose shapes do not make a product.

    Raises:
        LaunchError: the shapes do not fit together, or a rank is neither 2 nor 3.
    """
    *batch, m, n = _matrices("c", c)
    _matrices("a", a)
    k = a.shape[-1]
    check_shape("a", a, (*batch, m, k))
    check_shape("b", b, (*batch, k, n))


def _matrices(name: str, array: Array) -> tuple[int, ...]:
    if len(array.shape) not in (2, 3):
        raise tl.LaunchError(
            f"{name} must be a matrix or a stack of matrices, found shape {tuple(array.shape)}"
        )
    return tuple(array.shape)
