"""Matrix products."""

# NumPy's stubs leave most of its functions partly unknown: no strict checks here.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilec.execute.lower import tile_type
from tilec.execute.numerics import Array, narrow, to_tf32
from tilec.execute.ops.integer import unsigned
from tilec.execute.registry import Operation, pure

_F64_EXACT = 2**53


@pure("tile.mma")
def _mma(op: Operation) -> Callable[[Array, Array, Array], Array]:
    lhs, rhs, acc = (tile_type(operand) for operand in op.operands)
    if acc.dtype.kind == "i":
        return _integer_mma("lhs_unsigned" in op.attributes, "rhs_unsigned" in op.attributes)
    has_tf32 = "allow_tf32" in op.attributes and lhs.element == rhs.element == "f32"
    # Products of 16-bit and fp8 floats are exact in f32, which is also what the GPU adds in.
    wide = np.result_type(acc.dtype, np.float32) if acc.element in ("f32", "f64") else np.float32

    def multiply(a: Array, b: Array, c: Array) -> Array:
        a, b = a.astype(wide), b.astype(wide)
        if has_tf32:
            a, b = to_tf32(a), to_tf32(b)
        return narrow(np.matmul(a, b) + c.astype(wide), acc.dtype)

    return multiply


def _integer_mma(
    is_lhs_unsigned: bool, is_rhs_unsigned: bool
) -> Callable[[Array, Array, Array], Array]:
    """Multiply exactly and wrap once, as additions modulo 2**N allow."""

    def multiply(a: Array, b: Array, c: Array) -> Array:
        a = unsigned(a) if is_lhs_unsigned else a
        b = unsigned(b) if is_rhs_unsigned else b
        largest = a.shape[-1] << (8 * (a.dtype.itemsize + b.dtype.itemsize))
        if largest < _F64_EXACT:  # f64 has a fast product, integers do not
            product = np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)
        else:
            product = np.matmul(a.astype(np.int64), b.astype(np.int64))
        return (product + c).astype(c.dtype)

    return multiply
