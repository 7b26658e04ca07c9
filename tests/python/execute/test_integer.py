import itertools

import numpy as np
import pytest

INTEGERS = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]


def edges(dtype):
    limits = np.iinfo(dtype)
    values = [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, limits.min + 1]
    if limits.min < 0:
        values += [-1, -2, -3, -7]
    pairs = np.array(list(itertools.product(values, values)), dtype)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def binary(ir, op, a, b):
    kind = ir.tile_type(a.shape, f"i{a.dtype.itemsize * 8}")
    return ir.evaluate(f"  %r = {op} %x0, %x1 : {kind}", a, b)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    ("op", "reference"),
    [
        ("arith.addi", np.add),
        ("arith.subi", np.subtract),
        ("arith.muli", np.multiply),
        ("arith.maxsi", np.maximum),
        ("arith.minsi", np.minimum),
        ("arith.andi", np.bitwise_and),
        ("arith.ori", np.bitwise_or),
        ("arith.xori", np.bitwise_xor),
    ],
)
def test_signed_op_edge_values_wraps_as_numpy(ir, dtype, op, reference):
    a, b = edges(dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(binary(ir, op, a, b), reference(a, b))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_signed_division_edge_values_matches_python(ir, dtype):
    a, b = edges(dtype)
    keep = (b != 0) & ~((a == np.iinfo(dtype).min) & (b == -1))
    a, b = a[keep], b[keep]
    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]

    def toward_zero(x, y):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    expected = {
        "arith.divsi": [toward_zero(x, y) for x, y in pairs],
        "arith.remsi": [x - y * toward_zero(x, y) for x, y in pairs],
        "arith.floordivsi": [x // y for x, y in pairs],
        "arith.ceildivsi": [-(-x // y) for x, y in pairs],
    }
    for op, values in expected.items():
        np.testing.assert_array_equal(binary(ir, op, a, b), np.array(values, dtype), err_msg=op)


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize(
    ("op", "reference"),
    [
        ("arith.divui", lambda x, y: x // y),
        ("arith.remui", lambda x, y: x % y),
        ("arith.ceildivui", lambda x, y: -(-x // y)),
        ("arith.maxui", max),
        ("arith.minui", min),
    ],
)
def test_unsigned_op_edge_values_matches_python(ir, dtype, op, reference):
    a, b = edges(dtype)
    a, b = a[b != 0], b[b != 0]
    expected = [reference(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(binary(ir, op, a, b), np.array(expected, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shift_narrow_type_drops_bits_above_the_width(ir, dtype):
    width = np.dtype(dtype).itemsize * 8
    a = np.array([8, 48, 67, -1, 127], dtype)
    k = np.full_like(a, width // 2)
    kind = ir.tile_type(a.shape, f"i{width}")
    body = f"  %s = arith.shli %x0, %x1 : {kind}\n  %r = arith.{{}} %s, %x1 : {kind}"
    up = [int(v) << (width // 2) & (2**width - 1) for v in a]
    signed = [(v - 2**width if v >= 2 ** (width - 1) else v) >> (width // 2) for v in up]
    unsigned = [v >> (width // 2) for v in up]
    np.testing.assert_array_equal(ir.evaluate(body.format("shrsi"), a, k), signed)
    np.testing.assert_array_equal(ir.evaluate(body.format("shrui"), a, k), unsigned)


def test_compare_every_predicate_matches_python(ir):
    a, b = edges(np.int8)
    ua, ub = a.view(np.uint8), b.view(np.uint8)
    expected = {
        "eq": a == b, "ne": a != b, "slt": a < b, "sle": a <= b, "sgt": a > b, "sge": a >= b,
        "ult": ua < ub, "ule": ua <= ub, "ugt": ua > ub, "uge": ua >= ub,
    }  # fmt: skip
    for predicate, holds in expected.items():
        kind, flags = ir.tile_type(a.shape, "i8"), ir.tile_type(a.shape, "i1")
        body = (
            f"  %c = arith.cmpi {predicate}, %x0, %x1 : {kind}\n"
            f"  %r = arith.extui %c : {flags} to {kind}"
        )
        np.testing.assert_array_equal(ir.evaluate(body, a, b), holds, err_msg=predicate)


def test_bool_arithmetic_is_modulo_two(ir):
    a, b = np.array([0, 0, 1, 1], np.int8), np.array([0, 1, 0, 1], np.int8)
    wide, flag = ir.tile_type(a.shape, "i8"), ir.tile_type(a.shape, "i1")
    expected = {
        "arith.addi": a ^ b, "arith.subi": a ^ b, "arith.muli": a & b,
        "arith.maxsi": a & b, "arith.maxui": a | b, "arith.minsi": a | b,
    }  # fmt: skip
    for op, result in expected.items():
        body = (
            f"  %a = arith.trunci %x0 : {wide} to {flag}\n"
            f"  %b = arith.trunci %x1 : {wide} to {flag}\n"
            f"  %c = {op} %a, %b : {flag}\n"
            f"  %r = arith.extui %c : {flag} to {wide}"
        )
        np.testing.assert_array_equal(ir.evaluate(body, a, b), result, err_msg=op)


def test_bool_sign_extension_gives_minus_one(ir):
    a = np.array([0, 1], np.int8)
    body = (
        "  %a = arith.trunci %x0 : tensor<2xi8> to tensor<2xi1>\n"
        "  %r = arith.extsi %a : tensor<2xi1> to tensor<2xi8>"
    )
    np.testing.assert_array_equal(ir.evaluate(body, a), [0, -1])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bit_counting_edge_values_matches_python(ir, dtype):
    a, _ = edges(dtype)
    width = np.dtype(dtype).itemsize * 8
    kind = ir.tile_type(a.shape, f"i{width}")
    bits = [format(int(v) & (2**width - 1), f"0{width}b") for v in a]
    expected = {
        "math.ctpop": [b.count("1") for b in bits],
        "math.ctlz": [width - len(b.lstrip("0")) for b in bits],
        "math.cttz": [width - len(b.rstrip("0")) if "1" in b else width for b in bits],
    }
    for op, counts in expected.items():
        np.testing.assert_array_equal(ir.evaluate(f"  %r = {op} %x0 : {kind}", a), counts, op)


def test_integer_power_wraps_and_inverts_units(ir):
    base = np.array([3, -1, -1, 1, 2, 0, 7], np.int32)
    exponent = np.array([25, -3, -4, -5, -1, -2, 0], np.int32)
    kind = ir.tile_type(base.shape, "i32")
    wrapped = (3**25 + 2**31) % 2**32 - 2**31
    result = ir.evaluate(f"  %r = math.ipowi %x0, %x1 : {kind}", base, exponent)
    np.testing.assert_array_equal(result, [wrapped, -1, 1, 1, 0, 0, 1])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_wide_product_edge_values_gives_both_halves(ir, dtype):
    a, b = edges(dtype)
    width = np.dtype(dtype).itemsize * 8
    kind = ir.tile_type(a.shape, f"i{width}")
    for op, view in (("mulsi_extended", dtype), ("mului_extended", f"u{np.dtype(dtype).name}")):
        pairs = zip(a.view(view), b.view(view), strict=True)
        high = [int(x) * int(y) >> width for x, y in pairs]
        expected = np.array([h & (2**width - 1) for h in high], f"u{np.dtype(dtype).name}")
        body = f"  %low, %r = arith.{op} %x0, %x1 : {kind}"
        np.testing.assert_array_equal(ir.evaluate(body, a, b), expected.view(dtype), op)
