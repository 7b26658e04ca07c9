"""Whole kernels under the layouts, scratch and barriers that the passes choose, run on NumPy.

The machine refuses conflicting accesses to shared memory without a barrier between them.
"""

import ml_dtypes
import numpy as np
import pytest
from views import partition, view

BF16 = ml_dtypes.bfloat16


def random(shape, dtype=np.float32):
    """Small integers: sums and products of them are exact in f32."""
    return np.random.default_rng(3).integers(-3, 4, shape).astype(dtype)


def tensor(shape, element="f32"):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def total(name, source, shape, axis):
    """The sum of a tile along an axis, which stays."""
    kept = tuple(1 if dim == axis else size for dim, size in enumerate(shape))
    return f"""
        %{name} = tile.reduce (%{source}) axis = {axis} identity [0.0 : f32]
            : ({tensor(shape)}) -> ({tensor(kept)}) {{
        ^bb0(%left: f32, %right: f32):
          %sum = arith.addf %left, %right : f32
          tile.yield %sum : f32
        }}"""


def kernel(body, arguments):
    """A module of one kernel; `arguments` are pairs of a name and a type, the result's first."""
    formals = ", ".join(f"%{name}: {text}" for name, text in arguments)
    return f"""
        tile.kernel @k({formals}) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          {body}
          tile.return
        }}"""


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize(
    ("shape", "dtype", "element"),
    [
        ((32, 64), np.float32, "f32"),
        ((64, 64), BF16, "bf16"),
        ((48, 40), BF16, "bf16"),
        ((8, 100), np.int8, "i8"),
        ((3, 7), np.float32, "f32"),
    ],
)
def test_transposition_of_any_shape_moves_every_element(
    compile_and_run, shape, dtype, element, warps
):
    x, y = random(shape, dtype), np.zeros(shape[::-1], dtype)
    vx, py = view(x, element, "read"), partition(y, element, y.shape)
    body = f"""
        %t = tile.load %x[%c0, %c0] : {vx} -> {tensor(shape, element)}
        %p = tile.permute %t [1, 0] : {tensor(shape, element)} -> {tensor(y.shape, element)}
        tile.store %p, %y : {tensor(y.shape, element)}, {py}"""
    compile_and_run(
        kernel(body, [("y", py), ("x", vx)]), [y, x], options=f"target=sm_80 num-warps={warps}"
    )
    np.testing.assert_array_equal(y, x.T)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize(
    ("source", "result"),
    [
        ((12, 20), (240,)),
        ((6, 10), (4, 15)),
        ((8, 64), (512,)),
        ((7, 9), (9, 7)),
        ((4, 6, 8), (24, 8)),
    ],
)
def test_reshape_keeps_row_major_order(compile_and_run, source, result, warps):
    x, y = random(source), np.zeros(result, np.float32)
    vx, py = view(x, "f32", "read"), partition(y, "f32", result)
    zeros = ", ".join(["%c0"] * len(source))
    body = f"""
        %t = tile.load %x[{zeros}] : {vx} -> {tensor(source)}
        %p = tile.reshape %t : {tensor(source)} -> {tensor(result)}
        tile.store %p, %y : {tensor(result)}, {py}"""
    compile_and_run(
        kernel(body, [("y", py), ("x", vx)]), [y, x], options=f"target=sm_80 num-warps={warps}"
    )
    np.testing.assert_array_equal(y, x.reshape(result))


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((64, 128), 0),
        ((64, 128), 1),
        ((3, 1185), 1),
        ((33, 7), 0),
        ((4, 6, 10), 1),
        ((16, 3, 4), 0),
    ],
)
def test_sum_along_an_axis_broadcast_back(compile_and_run, shape, axis, warps):
    x, y = random(shape), np.zeros(shape, np.float32)
    vx, py = view(x, "f32", "read"), partition(y, "f32", shape)
    kept = tuple(1 if dim == axis else size for dim, size in enumerate(shape))
    body = f"""
        %t = tile.load %x[{", ".join(["%c0"] * len(shape))}] : {vx} -> {tensor(shape)}
        {total("s", "t", shape, axis)}
        %b = tile.broadcast %s : {tensor(kept)} -> {tensor(shape)}
        %d = arith.subf %t, %b : {tensor(shape)}
        tile.store %d, %y : {tensor(shape)}, {py}"""
    compile_and_run(
        kernel(body, [("y", py), ("x", vx)]), [y, x], options=f"target=sm_80 num-warps={warps}"
    )
    np.testing.assert_array_equal(y, x - x.sum(axis=axis, keepdims=True))


@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_across_warps_in_a_loop_use_their_scratch_again(compile_and_run, axis):
    x, y = random((96, 64)), np.zeros((32, 64), np.float32)
    vx, py = view(x, "f32", "read"), partition(y, "f32", y.shape)
    shape = (32, 64)
    kept = tuple(1 if dim == axis else size for dim, size in enumerate(shape))
    body = f"""
        %n = tile.num_tiles %x, 0 by 32 : {vx}
        %z = arith.constant dense<0.0> : {tensor(shape)}
        %o = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> ({tensor(shape)}) {{
          %t = tile.load %x[%i, %c0] : {vx} -> {tensor(shape)}
          %u = arith.addf %t, %a : {tensor(shape)}
          {total("s", "u", shape, axis)}
          %b = tile.broadcast %s : {tensor(kept)} -> {tensor(shape)}
          {total("s1", "t", shape, axis)}
          %b1 = tile.broadcast %s1 : {tensor(kept)} -> {tensor(shape)}
          %v = arith.subf %b, %b1 : {tensor(shape)}
          scf.yield %v : {tensor(shape)}
        }}
        tile.store %o, %y : {tensor(shape)}, {py}"""
    compile_and_run(
        kernel(body, [("y", py), ("x", vx)]), [y, x], options="target=sm_80 num-warps=8"
    )
    acc = np.zeros(shape, np.float32)
    for part in np.split(x, 3):
        acc = (acc + part).sum(axis, keepdims=True) - part.sum(axis, keepdims=True) + 0 * acc
    np.testing.assert_array_equal(y, acc)


@pytest.mark.parametrize("warps", [4, 8])
def test_chained_products_with_row_sums(compile_and_run, warps):
    q, k, v = random((64, 32), BF16), random((48, 32), BF16), random((48, 32), BF16)
    y = np.zeros((64, 32), np.float32)
    vq, vk, vv = (view(a, "bf16", "read") for a in (q, k, v))
    vt, py = view(k.T, "bf16", "read"), partition(y, "f32", y.shape)
    body = f"""
        %n = tile.num_tiles %k, 0 by 16 : {vk}
        %kt = tile.permute_view %k [1, 0] : {vk} -> {vt}
        %qt = tile.load %q[%c0, %c0] : {vq} -> tensor<64x32xbf16>
        %z = arith.constant dense<0.0> : tensor<64x32xf32>
        %l0 = arith.constant dense<0.0> : tensor<64x1xf32>
        %o:2 = scf.for %j = %c0 to %n step %c1 iter_args(%a = %z, %l = %l0)
            -> (tensor<64x32xf32>, tensor<64x1xf32>) {{
          %kb = tile.load %kt[%c0, %j] : {vt} -> tensor<32x16xbf16>
          %zs = arith.constant dense<0.0> : tensor<64x16xf32>
          %s = tile.mma %qt, %kb, %zs : tensor<64x32xbf16>, tensor<32x16xbf16>, tensor<64x16xf32>
          {total("r", "s", (64, 16), 1)}
          %l1 = arith.addf %l, %r : tensor<64x1xf32>
          %p = arith.truncf %s : tensor<64x16xf32> to tensor<64x16xbf16>
          %vb = tile.load %v[%j, %c0] : {vv} -> tensor<16x32xbf16>
          %b = tile.mma %p, %vb, %a : tensor<64x16xbf16>, tensor<16x32xbf16>, tensor<64x32xf32>
          scf.yield %b, %l1 : tensor<64x32xf32>, tensor<64x1xf32>
        }}
        %lb = tile.broadcast %o#1 : tensor<64x1xf32> -> tensor<64x32xf32>
        %u = arith.addf %o#0, %lb : tensor<64x32xf32>
        tile.store %u, %y : tensor<64x32xf32>, {py}"""
    arguments = [("y", py), ("q", vq), ("k", vk), ("v", vv)]
    compile_and_run(
        kernel(body, arguments), [y, q, k, v], options=f"target=sm_80 num-warps={warps}"
    )
    s = q.astype(np.float32) @ k.astype(np.float32).T
    expected = s.astype(BF16).astype(np.float32) @ v.astype(np.float32) + s.sum(1, keepdims=True)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize(
    "shape", [(64, 32, 32), (33, 17, 24), (5, 3, 1), (16, 8, 16), (48, 24, 40)]
)
def test_product_of_any_shape_drops_nothing(compile_and_run, shape, warps):
    m, n, k = shape
    a, b, y = random((m, k), BF16), random((k, n), BF16), np.zeros((m, n), np.float32)
    va, vb, py = view(a, "bf16", "read"), view(b, "bf16", "read"), partition(y, "f32", (m, n))
    body = f"""
        %l = tile.load %a[%c0, %c0] : {va} -> {tensor((m, k), "bf16")}
        %r = tile.load %b[%c0, %c0] : {vb} -> {tensor((k, n), "bf16")}
        %z = arith.constant dense<0.0> : {tensor((m, n))}
        %p = tile.mma %l, %r, %z
            : {tensor((m, k), "bf16")}, {tensor((k, n), "bf16")}, {tensor((m, n))}
        tile.store %p, %y : {tensor((m, n))}, {py}"""
    arguments = [("y", py), ("a", va), ("b", vb)]
    compile_and_run(kernel(body, arguments), [y, a, b], options=f"target=sm_80 num-warps={warps}")
    np.testing.assert_array_equal(y, a.astype(np.float32) @ b.astype(np.float32))
