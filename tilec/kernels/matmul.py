"""Matrix product."""

from __future__ import annotations

from collections.abc import Sequence

import tilec as tl
from tilec.kernels.products import accumulator, check_product, is_fp8, operand, step
from tilec.kernels.shapes import Array, check_rank


@tl.kernel(max_spills=0)
def matmul_kernel(
    c: tl.Partition,
    a: tl.TensorView,
    b: tl.TensorView,
    *,
    tk: tl.Constant[int | None] = None,
    tf32: tl.Constant[bool] = False,
) -> None:
    """One tile of ``c = a @ b``."""
    m, n = c.index
    tm, tn = c.tile_shape
    tk = tk or step(a.dtype)
    acc = tl.zeros((tm, tn), accumulator(a.dtype))
    for k in range(a.num_tiles(1, tk)):
        lhs, rhs = a.load((m, k), (tm, tk)), b.load((k, n), (tk, tn))
        acc = tl.mma(operand(lhs, tf32), operand(rhs, tf32), acc)
    c.store(acc.to(c.dtype))


@tl.kernel(max_spills=0)
def batched_matmul_kernel(
    c: tl.Partition,
    a: tl.TensorView,
    b: tl.TensorView,
    *,
    tk: tl.Constant[int | None] = None,
    tf32: tl.Constant[bool] = False,
) -> None:
    """One tile of one of the products ``c[i] = a[i] @ b[i]``."""
    i, m, n = c.index
    _, tm, tn = c.tile_shape
    tk = tk or step(a.dtype)
    acc = tl.zeros((tm, tn), accumulator(a.dtype))
    for k in range(a.num_tiles(2, tk)):
        lhs = a.load((i, m, k), (1, tm, tk)).reshape(tm, tk)
        rhs = b.load((i, k, n), (1, tk, tn)).reshape(tk, tn)
        acc = tl.mma(operand(lhs, tf32), operand(rhs, tf32), acc)
    c.store(acc.to(c.dtype).reshape(1, tm, tn))


# Hopper's warps emulate products of 8-bit floats, which spills where rows are not aligned.
_of_fp8 = tl.kernel(matmul_kernel.function)
_batched_of_fp8 = tl.kernel(batched_matmul_kernel.function)


def matmul(c: Array, a: Array, b: Array, *, allow_tf32: bool = False) -> None:
    """Write the matrix product ``a @ b`` to ``c``, for one pair of matrices or for a stack of them.

    Products of floats are accumulated in f32 (f64 in f64), of integers in i32; the sum is rounded
    to the dtype of ``c`` once. All operands may be transposed views.

    Shapes:
        c: (m, n) or (batch, m, n)
        a: (m, k) or (batch, m, k)
        b: (k, n) or (batch, k, n)

    Args:
        c: where the product goes, in any dtype that the accumulator converts to.
        a: the left operand; its dtype is also that of ``b``, but e4m3 and e5m2 mix, and i8 and u8.
        b: the right operand.
        allow_tf32: multiply f32 with 11 bits of their significands, on the tensor cores.

    Raises:
        LaunchError: the shapes do not fit together, or a rank is neither 2 nor 3.
    """
    check_product(c, a, b)
    if is_fp8(a):
        kernel = _of_fp8 if len(c.shape) == 2 else _batched_of_fp8
    else:
        kernel = matmul_kernel if len(c.shape) == 2 else batched_matmul_kernel
    kernel(tl.partition(c, tl.AUTO), a, b, tf32=allow_tf32)


def grouped_matmul(
    problems: Sequence[tuple[Array, Array, Array]], *, allow_tf32: bool = False
) -> None:
    """Write the matrix products ``c = a @ b`` of a list of ``(c, a, b)``, all in one launch.

    The products may have any shapes, each its own; dtypes are those of the first. Each is the
    product that ``matmul`` gives, and all have one tile.

    Shapes:
        c: (m, n)
        a: (m, k)
        b: (k, n)

    Args:
        problems: for each product, where it goes and its operands. What one of them writes must be
            disjoint from every array of the others.
        allow_tf32: multiply f32 with 11 bits of their significands, on the tensor cores.

    Raises:
        LaunchError: shapes do not fit together, or a rank is not 2; it names the problem.
    """
    for number, (c, a, b) in enumerate(problems):
        try:
            check_rank("c", c, 2)
            check_product(c, a, b)
        except tl.LaunchError as error:
            raise tl.LaunchError(f"problem {number}: {error.message}") from None
    kernel = _of_fp8 if problems and is_fp8(problems[0][1]) else matmul_kernel
    kernel.grouped([(tl.partition(c, tl.AUTO), a, b) for c, a, b in problems], tf32=allow_tf32)


__tilec_examples__ = {
    "matmul_kernel": (
        "bf16[4096,4096]:partition(auto) bf16[4096,4096] bf16[4096,4096]",
        "f32[4096,4096]:partition(auto) f32[4096,4096] f32[4096,4096]:strides(1,4096) tf32=True",
        "i32[4096,4096]:partition(auto) i8[4096,4096] i8[4096,4096]:strides(1,4096)",
    ),
    "batched_matmul_kernel": (
        "bf16[64,1024,1024]:partition(auto) bf16[64,1024,1024] bf16[64,1024,1024]"
    ),
}
