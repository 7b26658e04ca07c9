"""Shape ops, reductions and matrix products."""

import ml_dtypes
import numpy as np
import pytest


def reduction(kind, axis, shape, element, combiner, identity):
    before = f"tensor<{'x'.join(map(str, shape))}x{element}>"
    after = list(shape)
    after[axis] = 1
    return (
        f"  {kind} = tile.reduce (%x0) axis = {axis} identity [{identity} : {element}] : ({before})"
        f" -> (tensor<{'x'.join(map(str, after))}x{element}>) {{\n"
        f"  ^bb0(%a: {element}, %b: {element}):\n{combiner}\n"
        f"    tile.yield %c : {element}\n  }}"
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (7, 1, 4), (3, 33, 2)])
def test_reduce_sum_any_axis_matches_numpy(ir, rng, axis, shape):
    x = rng.integers(-1000, 1000, shape)
    body = reduction("%r", axis, shape, "i64", "    %c = arith.addi %a, %b : i64", "0")
    out = np.empty(tuple(1 if d == axis else n for d, n in enumerate(shape)), np.int64)
    np.testing.assert_array_equal(ir.evaluate(body, x, out=out), x.sum(axis, keepdims=True))


def test_reduce_float_sum_is_pairwise_exact_enough(ir, rng):
    x = rng.standard_normal((1, 12288)).astype(np.float32)
    body = reduction("%r", 1, x.shape, "f32", "    %c = arith.addf %a, %b : f32", "0.0")
    found = ir.evaluate(body, x, out=np.empty((1, 1), np.float32))
    assert abs(found[0, 0] - x.astype(np.float64).sum()) <= 14 * 2.0**-24 * np.abs(x).sum()


def test_reduce_keeps_the_order_of_a_product_of_maps(ir, rng):
    """An associative combiner that is not commutative: x → m·x + n, composed."""
    m, n = rng.integers(1, 3, (1, 13)), rng.integers(0, 5, (1, 13))
    body = """
  %p:2 = tile.reduce (%x0, %x1) axis = 1 identity [1 : i64, 0 : i64]
      : (tensor<1x13xi64>, tensor<1x13xi64>) -> (tensor<1x1xi64>, tensor<1x1xi64>) {
  ^bb0(%am: i64, %an: i64, %bm: i64, %bn: i64):
    %cm = arith.muli %am, %bm : i64
    %t = arith.muli %bm, %an : i64
    %cn = arith.addi %t, %bn : i64
    tile.yield %cm, %cn : i64, i64
  }
  %r = arith.addi %p#1, %p#1 : tensor<1x1xi64>"""
    value = 0
    for scale, shift in zip(m[0], n[0], strict=True):
        value = scale * value + shift
    found = ir.evaluate(body, m, n, out=np.empty((1, 1), np.int64))
    assert found[0, 0] == 2 * value


def test_reduce_with_control_flow_in_the_combiner(ir, rng):
    x = rng.integers(-50, 50, (4, 9))
    combiner = """
    %less = arith.cmpi slt, %a, %b : i64
    %c = scf.if %less -> i64 {
      scf.yield %b : i64
    } else {
      scf.yield %a : i64
    }"""
    body = reduction("%r", 1, x.shape, "i64", combiner, "-9223372036854775808")
    found = ir.evaluate(body, x, out=np.empty((4, 1), np.int64))
    np.testing.assert_array_equal(found, x.max(1, keepdims=True))


def test_reduce_argmax_takes_the_first_of_equals(ir, rng):
    x = rng.integers(0, 4, (5, 23)).astype(np.int32)
    body = """
  %i = tile.iota axis = 1 : tensor<5x23xi32>
  %m, %r = tile.reduce (%x0, %i) axis = 1 identity [-2147483648 : i32, 2147483647 : i32]
      : (tensor<5x23xi32>, tensor<5x23xi32>) -> (tensor<5x1xi32>, tensor<5x1xi32>) {
  ^bb0(%av: i32, %ai: i32, %bv: i32, %bi: i32):
    %gt = arith.cmpi sgt, %av, %bv : i32
    %eq = arith.cmpi eq, %av, %bv : i32
    %first = arith.cmpi slt, %ai, %bi : i32
    %tie = arith.andi %eq, %first : i1
    %left = arith.ori %gt, %tie : i1
    %v = arith.select %left, %av, %bv : i32
    %n = arith.select %left, %ai, %bi : i32
    tile.yield %v, %n : i32, i32
  }"""
    found = ir.evaluate(body, x, out=np.empty((5, 1), np.int32))
    np.testing.assert_array_equal(found[:, 0], x.argmax(1))


def test_shape_ops_match_numpy(ir, rng):
    x = rng.standard_normal((2, 1, 6))
    cases = [
        ("tile.broadcast %x0 : tensor<2x1x6xf64> -> tensor<2x4x6xf64>",
         np.broadcast_to(x, (2, 4, 6))),
        ("tile.reshape %x0 : tensor<2x1x6xf64> -> tensor<3x4xf64>", x.reshape(3, 4)),
        ("tile.permute %x0 [2, 0, 1] : tensor<2x1x6xf64> -> tensor<6x2x1xf64>",
         x.transpose(2, 0, 1)),
    ]  # fmt: skip
    for op, expected in cases:
        found = ir.evaluate(f"  %r = {op}", x, out=np.empty(expected.shape))
        np.testing.assert_array_equal(found, expected, op)


def test_extract_and_splat_go_through_rank_zero(ir):
    x = np.array([[2.5]])
    body = """
  %s = tile.reshape %x0 : tensor<1x1xf64> -> tensor<f64>
  %d = arith.addf %s, %s : tensor<f64>
  %e = tile.extract %d : tensor<f64> -> f64
  %q = arith.mulf %e, %e : f64
  %r = tile.splat %q : f64 -> tensor<3xf64>"""
    np.testing.assert_array_equal(ir.evaluate(body, x, out=np.empty(3)), [25.0] * 3)


@pytest.mark.parametrize("axis", [0, 1])
def test_iota_counts_along_its_axis(ir, axis):
    out = np.empty((3, 4), np.int32)
    found = ir.evaluate(f"  %r = tile.iota axis = {axis} : tensor<3x4xi32>", out.copy(), out=out)
    np.testing.assert_array_equal(found, np.indices((3, 4))[axis])


FLOAT_MMA = [
    ("f16", np.float16, "f32", np.float32),
    ("bf16", ml_dtypes.bfloat16, "f32", np.float32),
    ("f8E4M3FN", ml_dtypes.float8_e4m3fn, "f32", np.float32),
    ("f8E5M2", ml_dtypes.float8_e5m2, "f32", np.float32),
    ("f32", np.float32, "f32", np.float32),
    ("f64", np.float64, "f64", np.float64),
    ("f16", np.float16, "f16", np.float16),
]


@pytest.mark.parametrize(("element", "dtype", "acc_element", "acc_dtype"), FLOAT_MMA)
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (8, 4, 17), (16, 8, 952)])
def test_mma_float_is_within_the_accumulation_bound(
    ir, rng, element, dtype, acc_element, acc_dtype, m, n, k
):
    a, b = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n)))
    c = rng.standard_normal((m, n)).astype(acc_dtype)
    body = (
        f"  %r = tile.mma %x0, %x1, %x2 : tensor<{m}x{k}x{element}>, tensor<{k}x{n}x{element}>, "
        f"tensor<{m}x{n}x{acc_element}>"
    )
    found = ir.evaluate(body, a, b, c, out=np.empty((m, n), acc_dtype)).astype(np.float64)
    wide = [t.astype(np.float64) for t in (a, b, c)]
    exact = wide[0] @ wide[1] + wide[2]
    size = np.abs(wide[0]) @ np.abs(wide[1]) + np.abs(wide[2])
    unit = {np.float64: 2.0**-53}.get(acc_dtype, 2.0**-24)
    rounding = 2.0**-11 if acc_dtype == np.float16 else 0.0
    assert (np.abs(found - exact) <= 4 * k * unit * size + rounding * np.abs(exact)).all()


def test_mma_tf32_rounds_its_operands(ir):
    a = np.array([[1 + 2.0**-11]], np.float32)
    b = np.array([[1 + 2.0**-12]], np.float32)
    c = np.zeros((1, 1), np.float32)
    kinds = "tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>"
    exact = ir.evaluate(f"  %r = tile.mma %x0, %x1, %x2 : {kinds}", a, b, c)
    rounded = ir.evaluate(f"  %r = tile.mma %x0, %x1, %x2 {{allow_tf32}} : {kinds}", a, b, c)
    assert exact[0, 0] == np.float32(float(a[0, 0]) * float(b[0, 0]))
    assert rounded[0, 0] == 1 + 2.0**-10


@pytest.mark.parametrize(
    "flags", ["", "lhs_unsigned", "rhs_unsigned", "lhs_unsigned, rhs_unsigned"]
)
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_mma_integer_wraps_exactly(ir, rng, flags, dtype):
    limits = np.iinfo(dtype)
    a, b = (rng.integers(limits.min, limits.max, s, dtype, endpoint=True) for s in ((3, 5), (5, 4)))
    c = rng.integers(-(2**31), 2**31, (3, 4)).astype(np.int32)
    bits = f"i{np.dtype(dtype).itemsize * 8}"
    attributes = f"{{{flags}}}" if flags else ""
    body = (
        f"  %r = tile.mma %x0, %x1, %x2 {attributes} : tensor<3x5x{bits}>, tensor<5x4x{bits}>, "
        "tensor<3x4xi32>"
    )
    unsigned = f"u{np.dtype(dtype).name}"
    wide_a = (a.view(unsigned) if "lhs" in flags else a).astype(object)
    wide_b = (b.view(unsigned) if "rhs" in flags else b).astype(object)
    exact = (wide_a @ wide_b + c.astype(object) + 2**31) % 2**32 - 2**31
    found = ir.evaluate(body, a, b, c, out=np.empty((3, 4), np.int32))
    np.testing.assert_array_equal(found, exact.astype(np.int32))
