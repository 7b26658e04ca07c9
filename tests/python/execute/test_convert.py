import itertools

import ml_dtypes
import numpy as np
import pytest

BF16 = ml_dtypes.bfloat16


def convert(ir, op, x, element, out_dtype, source=None):
    source = source or ir.tile_type(x.shape, f"i{x.dtype.itemsize * 8}")
    body = f"  %r = arith.{op} %x0 : {source} to {ir.tile_type(x.shape, element)}"
    return ir.evaluate(body, x, out=np.empty(x.shape, out_dtype))


def test_unsigned_to_float_keeps_large_values(ir):
    cases = [
        (np.uint8, 200, np.float64), (np.uint16, 60000, np.float64),
        (np.uint32, 3_000_000_000, np.float32), (np.uint64, 2**63 + 2048, np.float64),
    ]  # fmt: skip
    for integer, value, floating in cases:
        x = np.array([value], integer)
        element = "f32" if floating == np.float32 else "f64"
        assert convert(ir, "uitofp", x, element, floating)[0] == floating(value)


@pytest.mark.parametrize("dtype", [np.float16, BF16])
def test_integer_to_short_float_rounds_once(ir, dtype):
    # Halfway cases that a detour through f32 (or f64) would round to the wrong side.
    x = np.array([2**40 + 2**32 + 1, 2**60 + 2**52 + 1, 2**25 + 2**17 + 1, 2049, 4098], np.int64)
    element, digits = ("bf16", 8) if dtype == BF16 else ("f16", 11)
    expected = []
    for value in map(int, x):
        unit = 1 << max(value.bit_length() - digits, 0)
        low, rest = divmod(value, unit)
        up = rest * 2 > unit or (rest * 2 == unit and low % 2 == 1)
        expected.append(float((low + up) * unit))
    with np.errstate(over="ignore"):
        truth = np.array(expected).astype(dtype)
    np.testing.assert_array_equal(convert(ir, "sitofp", x, element, dtype), truth)


def test_float_to_integer_out_of_range_saturates(ir):
    x = np.array([1.9, -1.9, np.nan, np.inf, -np.inf, 3e9, -3e9, 1e20], np.float64)
    kind = ir.tile_type(x.shape, "f64")
    i32, i64 = np.iinfo(np.int32), np.iinfo(np.int64)
    np.testing.assert_array_equal(
        convert(ir, "fptosi", x, "i32", np.int32, kind),
        [1, -1, 0, i32.max, i32.min, i32.max, i32.min, i32.max],
    )
    np.testing.assert_array_equal(
        convert(ir, "fptosi", x, "i64", np.int64, kind),
        [1, -1, 0, i64.max, i64.min, 3 * 10**9, -3 * 10**9, i64.max],
    )
    np.testing.assert_array_equal(
        convert(ir, "fptoui", x, "i32", np.uint32, kind),
        [1, 0, 0, 2**32 - 1, 0, 3 * 10**9, 0, 2**32 - 1],
    )
    np.testing.assert_array_equal(
        convert(ir, "fptoui", x, "i64", np.uint64, kind),
        np.array([1, 0, 0, 2**64 - 1, 0, 3 * 10**9, 0, 2**64 - 1], np.uint64),
    )


def test_narrow_to_bf16_keeps_nan_and_rounds_to_even(ir):
    bits = [
        0x7FFF8C22, 0x7F800001, 0xFF800001, 0x7F7FFFFF, 0x3F808000, 0x3F818000, 0x7F800000,
        0x00000001, 0x80000000,
    ]  # fmt: skip
    x = np.array(bits, np.uint32).view(np.float32)
    found = convert(ir, "truncf", x, "bf16", BF16, ir.tile_type(x.shape, "f32"))
    assert np.isnan(found[:3].astype(np.float32)).all()
    assert list(found[3:].view(np.uint16)) == [0x7F80, 0x3F80, 0x3F82, 0x7F80, 0x0000, 0x8000]


def test_narrow_double_to_bf16_rounds_once(ir):
    # Just above a tie of bf16, by less than f32 can see.
    x = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8 - 2.0**-40, -1 - 2.0**-8 - 2.0**-40])
    found = convert(ir, "truncf", x, "bf16", BF16, ir.tile_type(x.shape, "f64"))
    np.testing.assert_array_equal(found.astype(np.float64), [1 + 2.0**-7, 1, -1 - 2.0**-7])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("downward", [1.0, -1.0078125]), ("upward", [1.0078125, -1.0]), ("toward_zero", [1.0, -1.0])],
)
def test_narrow_with_a_direction_goes_there(ir, mode, expected):
    x = np.array([1.004, -1.004], np.float32)
    body = f"  %r = arith.truncf %x0 {mode} : tensor<2xf32> to tensor<2xbf16>"
    found = ir.evaluate(body, x, out=np.empty(2, BF16))
    np.testing.assert_array_equal(found.astype(np.float64), expected)


def test_narrow_to_tf32_rounds_to_ten_bits(ir):
    x = np.array([1 + 2.0**-11, 1 + 2.0**-12, -3.14159265, np.inf], np.float32)
    body = (
        "  %t = arith.truncf %x0 : tensor<4xf32> to tensor<4xtf32>\n"
        "  %r = arith.extf %t : tensor<4xtf32> to tensor<4xf32>"
    )
    np.testing.assert_array_equal(ir.evaluate(body, x), [1 + 2.0**-10, 1, -3.140625, np.inf])


def test_integer_width_changes_follow_signedness(ir):
    x = np.array([-1, 5, -128], np.int8)
    np.testing.assert_array_equal(convert(ir, "extsi", x, "i32", np.int32), [-1, 5, -128])
    np.testing.assert_array_equal(convert(ir, "extui", x, "i32", np.int32), [255, 5, 128])
    wide = np.array([257, -1, 128], np.int32)
    np.testing.assert_array_equal(convert(ir, "trunci", wide, "i8", np.int8), [1, -1, -128])


def test_bitcast_keeps_bits(ir):
    x = np.array([0x3F800000, 0x7FC00000], np.uint32)
    found = convert(ir, "bitcast", x, "f32", np.float32)
    assert found[0] == 1.0 and np.isnan(found[1])


@pytest.mark.parametrize(
    ("element", "dtype"),
    [("f16", np.float16), ("bf16", BF16), ("f8E4M3FN", ml_dtypes.float8_e4m3fn),
     ("f8E5M2", ml_dtypes.float8_e5m2), ("f32", np.float32), ("f64", np.float64)],
)  # fmt: skip
def test_dense_float_constants_keep_every_element(ir, element, dtype):
    like = np.zeros(3, dtype)
    body = f"  %r = arith.constant dense<[1.5, -0.0, -2.0]> : tensor<3x{element}>"
    found = ir.evaluate(body, like)
    np.testing.assert_array_equal(found.astype(np.float64), [1.5, 0.0, -2.0])
    assert np.signbit(found.astype(np.float64))[1]
    splat = ir.evaluate(f"  %r = arith.constant dense<0.25> : tensor<3x{element}>", like)
    np.testing.assert_array_equal(splat.astype(np.float64), [0.25] * 3)


def test_dense_bf16_constants_large_and_special_keep_bits(ir):
    values = np.arange(-200, 200, dtype=np.float32).astype(BF16)
    values[7] = np.nan
    text = '"0x' + values.tobytes().hex().upper() + '"'
    found = ir.evaluate(
        f"  %r = arith.constant dense<{text}> : tensor<400xbf16>", np.zeros(400, BF16)
    )
    np.testing.assert_array_equal(found.view(np.uint16), values.view(np.uint16))
    body = "  %r = arith.constant dense<[[1.0], [0x7F80]]> : tensor<2x1xbf16>"
    found = ir.evaluate(body, np.zeros((2, 1), BF16))
    assert list(found.ravel().astype(np.float32)) == [1.0, np.inf]


def test_dense_integer_constants_keep_every_element(ir):
    found = ir.evaluate(
        "  %r = arith.constant dense<[1, -2, 127]> : tensor<3xi8>", np.zeros(3, np.int8)
    )
    np.testing.assert_array_equal(found, [1, -2, 127])
    body = (
        "  %c = arith.constant dense<[true, false, true]> : tensor<3xi1>\n"
        "  %r = arith.extui %c : tensor<3xi1> to tensor<3xi8>"
    )
    np.testing.assert_array_equal(ir.evaluate(body, np.zeros(3, np.int8)), [1, 0, 1])


def test_select_takes_scalar_and_tile_conditions(ir):
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    body = (
        "  %c = arith.cmpf olt, %x0, %x1 : tensor<2xf64>\n"
        "  %r = arith.select %c, %x1, %x0 : tensor<2xi1>, tensor<2xf64>"
    )
    np.testing.assert_array_equal(ir.evaluate(body, a, b), b)
    body = "  %c = arith.constant false\n  %r = arith.select %c, %x1, %x0 : tensor<2xf64>"
    np.testing.assert_array_equal(ir.evaluate(body, a, b), a)


def test_index_cast_extends_by_sign(ir):
    x = np.array([-1], np.int32)
    for op, expected in (("index_cast", -1), ("index_castui", 2**32 - 1)):
        body = (
            f"  %i = arith.{op} %x0 : tensor<1xi32> to tensor<1xindex>\n"
            "  %r = arith.index_cast %i : tensor<1xindex> to tensor<1xi64>"
        )
        assert ir.evaluate(body, x, out=np.empty(1, np.int64))[0] == expected


@pytest.mark.parametrize(
    ("element", "dtype", "largest"),
    [("f8E4M3FN", ml_dtypes.float8_e4m3fn, 448.0), ("f8E5M2", ml_dtypes.float8_e5m2, 57344.0)],
)
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
def test_narrow_to_float8_saturates_and_has_one_nan(ir, element, dtype, largest, source):
    x = np.array([largest, largest * 1.1, -largest * 1.1, np.inf, -np.inf, np.nan, -np.nan, 0.3])
    x = x.astype(source)
    kind = ir.tile_type(x.shape, f"f{x.dtype.itemsize * 8}")
    found = convert(ir, "truncf", x, element, dtype, kind)
    near = x[7:].astype(np.float32).astype(dtype).astype(np.float32)[0]
    expected = [largest, largest, -largest, largest, -largest, np.nan, np.nan, near]
    np.testing.assert_array_equal(found.astype(np.float64), expected)
    assert list(found[5:7].view(np.uint8)) == [0x7F, 0x7F]


def test_narrow_double_to_float8_rounds_once(ir):
    # Just above a tie of e4m3, by less than f32 can see.
    x = np.array([1 + 2.0**-4 + 2.0**-40, 1 + 2.0**-4 - 2.0**-40])
    found = convert(ir, "truncf", x, "f8E4M3FN", ml_dtypes.float8_e4m3fn, "tensor<2xf64>")
    np.testing.assert_array_equal(found.astype(np.float64), [1.125, 1.0])


def test_float8_arithmetic_that_overflows_saturates(ir):
    x = np.array([448.0, -448.0]).astype(ml_dtypes.float8_e4m3fn)
    found = ir.evaluate("  %r = arith.addf %x0, %x0 : tensor<2xf8E4M3FN>", x)
    np.testing.assert_array_equal(found.astype(np.float64), [448.0, -448.0])


def test_float8_pairs_add_as_rounded_f32(ir):
    kinds = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
    values = [0.0, 1.0, -1.75, 0.015625, 8.0]
    for element, dtype in kinds.items():
        grid = np.array(list(itertools.product(values, values)), np.float32).astype(dtype)
        a, b = grid[:, 0].copy(), grid[:, 1].copy()
        expected = (a.astype(np.float32) + b.astype(np.float32)).astype(dtype)
        found = ir.evaluate(f"  %r = arith.addf %x0, %x1 : tensor<25x{element}>", a, b)
        np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))
