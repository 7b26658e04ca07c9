"""Numerics, NaN and infinity, rounding, integers: cases that broke other tile compilers."""

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import assert_exact

BF16 = ml_dtypes.bfloat16
SIGNED = [np.int8, np.int16, np.int32, np.int64]


# -- floor division and remainder round down (triton #619, #955) -----------------------------------


@tl.kernel
def divide_by_tile(quotient, remainder, x, d):
    a, b = x.load_like(quotient), d.load_like(quotient)
    quotient.store(a // b)
    remainder.store(a % b)


@tl.kernel
def divide_by_scalar(quotient, remainder, x, d):
    a = x.load_like(quotient)
    quotient.store(a // d)
    remainder.store(a % d)


@tl.kernel
def divide_by_literal(quotient, remainder, x, *, d: tl.Constant[int]):
    a = x.load_like(quotient)
    quotient.store(a // d)
    remainder.store(a % d)


@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("d", [-3, -2, 2, 3])
@pytest.mark.parametrize("kind", ["tile", "scalar", "literal"])
def test_division_of_mixed_signs_rounds_down(place, dtype, d, kind):
    x = np.array([-8, -7, -1, 0, 1, 7, 8], dtype)
    quotient, remainder = place.output(7, dtype), place.output(7, dtype)
    outputs = tl.partition(quotient.array, (8,)), tl.partition(remainder.array, (8,))
    if kind == "tile":
        divide_by_tile(*outputs, place.array(x), place.array(np.full(7, d, dtype)))
    elif kind == "scalar":
        divide_by_scalar(*outputs, place.array(x), d)
    else:
        divide_by_literal(*outputs, place.array(x), d=d)
    assert_exact(quotient.read(), np.floor_divide(x, dtype(d)))
    assert_exact(remainder.read(), np.remainder(x, dtype(d)))


@pytest.mark.parametrize("dtype", SIGNED)
def test_division_that_overflows_or_is_by_zero_is_defined(place, dtype):
    least = np.iinfo(dtype).min
    x = np.array([least, least, 5, 0, -5, least + 1], dtype)
    d = np.array([-1, 0, 0, 0, 0, -1], dtype)
    quotient, remainder = place.output(6, dtype), place.output(6, dtype)
    outputs = tl.partition(quotient.array, (8,)), tl.partition(remainder.array, (8,))
    divide_by_tile(*outputs, place.array(x), place.array(d))
    with np.errstate(all="ignore"):
        assert_exact(quotient.read(), np.floor_divide(x, d))
        assert_exact(remainder.read()[d != 0], np.remainder(x, d)[d != 0])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_division_of_unsigned_uses_the_whole_range(place, dtype):
    most = np.iinfo(dtype).max
    x, d = np.array([most, most, most - 1, 7], dtype), np.array([2, most, 3, 8], dtype)
    quotient, remainder = place.output(4, dtype), place.output(4, dtype)
    outputs = tl.partition(quotient.array, (4,)), tl.partition(remainder.array, (4,))
    divide_by_tile(*outputs, place.array(x), place.array(d))
    assert_exact(quotient.read(), x // d)
    assert_exact(remainder.read(), x % d)


# -- shifts drop what the type cannot hold (tilelang #2961, numba #9986) ---------------------------


@tl.kernel
def shift_by_scalar(y, x, k):
    y.store((x.load_like(y) << k) >> k)


@tl.kernel
def shift_by_literal(y, x, *, k: tl.Constant[int]):
    y.store((x.load_like(y) << k) >> k)


@tl.kernel
def shift_by_tile(y, x, k):
    by = k.load_like(y)
    y.store((x.load_like(y) << by) >> by)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.int8, [-8, 0, 3, -1, -1]),
        (np.uint8, [8, 0, 3, 15, 15]),
        (np.int16, [8, 48, 67, -1, 127]),
        (np.uint16, [8, 48, 67, 255, 127]),
    ],
)
@pytest.mark.parametrize("kind", ["scalar", "literal", "tile"])
def test_shift_left_then_right_keeps_only_the_type_s_bits(place, dtype, expected, kind):
    x = np.array([8, 48, 67, -1, 127]).astype(dtype)
    k = np.dtype(dtype).itemsize * 4
    y = place.output(5, dtype)
    part = tl.partition(y.array, (8,))
    if kind == "scalar":
        shift_by_scalar(part, place.array(x), k)
    elif kind == "literal":
        shift_by_literal(part, place.array(x), k=k)
    else:
        shift_by_tile(part, place.array(x), place.array(np.full(5, k, dtype)))
    assert_exact(y.read(), np.array(expected, dtype))


# -- conversions know signedness and bool (numba-cuda-mlir #290, #266) -----------------------------


@tl.kernel
def convert(y, x):
    y.store(x.load_like(y).to(y.dtype))


@pytest.mark.parametrize(
    ("source", "value", "target", "expected"),
    [
        (np.uint8, 200, np.float64, 200.0),
        (np.uint16, 60000, np.float64, 60000.0),
        (np.uint32, 3_000_000_000, np.float32, 3e9),
        (np.uint32, 3_000_000_000, np.float64, 3e9),
        (np.uint64, 2**63 + 2048, np.float64, 9223372036854777856.0),
        (np.float64, 3e9, np.uint32, 3_000_000_000),
        (np.int8, -1, np.uint32, 2**32 - 1),
        (np.uint8, 255, np.int32, 255),
        (np.int32, -1, np.int64, -1),
        (np.uint32, 2**32 - 1, np.int64, 2**32 - 1),
    ],
)
def test_conversion_follows_the_signedness_of_its_types(place, source, value, target, expected):
    y = place.output(1, target)
    convert(tl.partition(y.array, (1,)), place.array(np.array([value], source)))
    assert_exact(y.read(), np.array([expected], target))


@tl.kernel
def bool_to_integer(by_to, by_add, by_where, x):
    flags = x.load_like(by_to)
    by_to.store(flags.to(tl.int64))
    by_add.store((flags + 0).to(tl.int64))
    by_where.store(tl.where(flags, tl.full((4,), 1, tl.int64), tl.zeros((4,), tl.int64)))


def test_conversion_of_true_gives_one(place):
    x = np.array([True, False, True, True])
    outputs = [place.output(4, np.int64) for _ in range(3)]
    bool_to_integer(*(tl.partition(y.array, (4,)) for y in outputs), place.array(x))
    for y in outputs:
        assert_exact(y.read(), np.array([1, 0, 1, 1]))


@pytest.mark.parametrize("target", [np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64])
def test_conversion_of_float_out_of_range_saturates(place, target):
    limits = np.iinfo(target)
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 1.9, -0.9], np.float32)
    y = place.output(7, target)
    convert(tl.partition(y.array, (8,)), place.array(x))
    expected = [0, limits.max, limits.min, limits.max, limits.min, 1, 0]
    assert_exact(y.read(), np.array(expected, target))


# -- narrowing to bf16 keeps NaN (tilelang #2481) --------------------------------------------------


@tl.kernel
def narrow_bits(y, x):
    y.store(tl.bitcast(tl.bitcast(x.load_like(y), tl.float32).to(tl.bfloat16), tl.uint16))


@pytest.mark.parametrize("tile", [1, 2, 3, 8])
def test_narrowing_to_bf16_keeps_nan_and_rounds_to_even(place, tile):
    bits = [
        0x7FFF8C22, 0x7F800001, 0xFF800001, 0x7F7FFFFF, 0x3F808000, 0x3F818000, 0x7F800000,
        0x00000001, 0x80000000,
    ]  # fmt: skip
    y = place.output(9, np.uint16)
    narrow_bits(tl.partition(y.array, (tile,)), place.array(np.array(bits, np.uint32)))
    found = y.read()
    assert np.isnan(found[:3].view(BF16).astype(np.float32)).all()
    assert_exact(found[3:], np.array([0x7F80, 0x3F80, 0x3F82, 0x7F80, 0, 0x8000], np.uint16))


# -- arg-reductions take the first (triton #9022, #10291) ------------------------------------------


@tl.kernel
def arg_extremes(most, least, largest, smallest, x, *, n: tl.Constant[int], pad: tl.Constant):
    (i,) = most.index
    high = x.load((i, 0), (1, n), pad=-pad)
    low = x.load((i, 0), (1, n), pad=pad)
    most.store(tl.argmax(high, axis=-1).to(tl.int32))
    least.store(tl.argmin(low, axis=-1).to(tl.int32))
    largest.store(tl.max(high, axis=-1))
    smallest.store(tl.min(low, axis=-1))


def arg_case(place, x, tile):
    rows = x.shape[0]
    outputs = [place.output(rows, t) for t in (np.int32, np.int32, x.dtype, x.dtype)]
    pad = 1000 if x.dtype.kind == "i" else float("inf")
    parts = (tl.partition(y.array, (1,)) for y in outputs)
    arg_extremes(*parts, place.array(x), n=tile, pad=pad)
    return [y.read() for y in outputs]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("row", "first_most", "first_least"),
    [
        ([np.inf, np.nan], 1, 1),
        ([np.nan, np.inf], 0, 0),
        ([np.nan, 6, 8], 0, 0),
        ([3, 2, 3, 3], 0, 1),
        ([-np.inf] * 5, 0, 0),
        ([np.nan] * 5, 0, 0),
    ],
)
@pytest.mark.parametrize("tile", [8, 16])
def test_arg_reduction_takes_the_first_and_agrees_with_the_value(
    place, dtype, row, first_most, first_least, tile
):
    x = np.array([row], dtype)
    most, least, largest, smallest = arg_case(place, x, tile)
    assert most[0] == first_most and least[0] == first_least
    assert_exact(largest, x[0, most])
    assert_exact(smallest, x[0, least])


def test_arg_reduction_of_integers_with_ties_matches_numpy(place, rng):
    x = rng.integers(1, 4, (10, 10)).astype(np.int32)
    most, least, _, _ = arg_case(place, x, 16)
    assert_exact(most, x.argmax(1).astype(np.int32))
    assert_exact(least, x.argmin(1).astype(np.int32))


# -- NaN through a running maximum (tilelang #3270, #2697) -----------------------------------------


@tl.kernel
def running_maximum(y, x, *, propagate: tl.Constant[bool]):
    m = tl.full((1,), -float("inf"), x.dtype)
    for k in range(x.num_tiles(0, 64)):
        block = tl.max(x.load((k,), (64,)), axis=0, keepdims=True, propagate_nan=propagate)
        m = tl.maximum(m, block, propagate_nan=propagate)
    y.store(m)


@pytest.mark.parametrize("dtype", [np.float16, BF16, np.float32, np.float64])
@pytest.mark.parametrize("rest", ["inf", "finite"])
@pytest.mark.parametrize("at", [[3], [200], [3, 200], range(256)])
@pytest.mark.parametrize("propagate", [True, False])
def test_maximum_over_blocks_treats_nan_as_asked(place, rng, dtype, rest, at, propagate):
    x = rng.standard_normal(256) if rest == "finite" else np.full(256, np.inf)
    x[list(at)] = np.nan
    x = x.astype(dtype)
    y = place.output(1, dtype)
    running_maximum(tl.partition(y.array, (1,)), place.array(x), propagate=propagate)
    reduce = np.max if propagate else np.fmax.reduce
    assert_exact(y.read(), np.array([reduce([-np.inf, *x.astype(np.float64)])]))


@tl.kernel
def maximum_of_rows(y, x, *, n: tl.Constant[int], propagate: tl.Constant[bool]):
    (i,) = y.index
    row = x.load((i, 0), (1, n), pad=float("nan"))
    y.store(tl.max(row, axis=1, propagate_nan=propagate))


@pytest.mark.parametrize("dtype", [np.float16, BF16, np.float32, np.float64])
@pytest.mark.parametrize("n", [5, 8, 256])
@pytest.mark.parametrize("propagate", [True, False])
def test_maximum_of_nothing_but_nan_is_nan(place, dtype, n, propagate):
    x = np.full((2, n), np.nan).astype(dtype)
    x[1, n - 1] = -3
    y = place.output(2, dtype)
    part = tl.partition(y.array, (1,))
    maximum_of_rows(part, place.array(x), n=n, propagate=propagate)
    assert_exact(y.read(), np.array([np.nan, np.nan if propagate else -3]))


# -- literals are weak (triton #1891, numba-cuda-mlir #277) ----------------------------------------


@tl.kernel
def weak_literals(y, x, m):
    t = tl.where(x.load_like(y) > 0, x.load_like(y) - m.load_like(y), 0)
    tl.static_assert(t.dtype == tl.float16)
    acc = tl.zeros((4,), tl.float16)
    for _ in range(y.num_tiles(0, 4)):
        acc += t * t
    y.store(acc)


def test_literal_takes_the_tile_s_type(place):
    x, m = np.array([1, 2, -3, 4], np.float16), np.array([0.5, 1, 1, 1], np.float16)
    y = place.output(4, np.float16)
    weak_literals(tl.partition(y.array, (4,)), place.array(x), place.array(m))
    assert_exact(y.read(), np.array([0.25, 1, 0, 9], np.float16))


@tl.kernel
def apply(y, x, *, function: tl.Constant):
    y.store(function(x.load_like(y)))


@pytest.mark.parametrize(
    ("dtype", "function", "values"),
    [
        (np.uint64, lambda x: x * 2, [2**64 - 1, 1]),
        (np.uint64, lambda x: ~x, [2**64 - 1, 1]),
        (np.int8, lambda x: x + 1, [127, -1]),
        (np.uint8, lambda x: x - 1, [0, 255]),
    ],
)
def test_integer_literal_wraps_as_numpy(place, dtype, function, values):
    x = np.array(values, dtype)
    y = place.output(2, dtype)
    apply(tl.partition(y.array, (2,)), place.array(x), function=function)
    with np.errstate(over="ignore"):
        assert_exact(y.read(), function(x))
