"""Kernels that are nearly a matrix product: what a library's routine does not cover."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import FP8_SUM, UNIT, assert_exact, assert_within, double

BF16 = np.dtype(ml_dtypes.bfloat16)
E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)
F16, F32, I8, I32 = (np.dtype(t) for t in (np.float16, np.float32, np.int8, np.int32))
Arrays = tuple[Any, ...]


@dataclass(frozen=True)
class Bounded:
    """Exact values, and how far a result may be from them."""

    value: Any
    error: Any

    def __add__(self, other: Bounded) -> Bounded:
        return Bounded(self.value + other.value, self.error + other.error)


def product(a: Any, b: Any) -> Bounded:
    """`a @ b`, accumulated in float32 in any order; of 8-bit floats with fewer digits."""
    short = a.dtype.itemsize == 1 and a.dtype.kind not in "iu"
    a, b = double(a), double(b)
    relative = 4 * a.shape[-1] * 2.0**-24 + (FP8_SUM if short else 0.0)
    return Bounded(a @ b, relative * (np.abs(a) @ np.abs(b)))


def exact(value: Any) -> Bounded:
    return Bounded(double(value), 0.0)


def smooth(function: Callable[[Any], Any], slope: float, x: Bounded) -> Bounded:
    """A function no steeper than `slope`, computed in float32."""
    value = function(x.value)
    return Bounded(value, slope * x.error + 2.0**-18 * (np.abs(x.value) + np.abs(value)))


@dataclass(frozen=True)
class Case:
    """A kernel, its operands for an output of (m, n) and a depth of k, and its result.

    Attributes:
        without_tma: why the copy engine fetches nothing for its products on Hopper, as the plan's
            report says it of a load.
        without_wgmma: why they are not multiplied by wgmma there, as it says of them.
    """

    kernel: Any
    operands: Callable[[Any, int, int, int], Arrays]
    result: Callable[..., Bounded]
    tile: tuple[int, int] = (128, 128)
    output: np.dtype[Any] = BF16
    keywords: dict[str, Any] = field(default_factory=dict)
    without_tma: str = ""
    without_wgmma: str = ""

    def run(self, place: Any, rng: Any, m: int, n: int, k: int) -> None:
        operands = self.operands(rng, m, n, k)
        gap = 8 if self.output.itemsize > 1 else 16
        c = place.output((m, n), self.output, gap_elems=gap)
        given = [place.array(x) if isinstance(x, np.ndarray) else x for x in operands]
        self.kernel(tl.partition(c.array, self.tile), *given, **self.keywords)
        expected = self.result(*operands)
        if self.output.kind == "i":
            assert_exact(c.read(), expected.value.astype(self.output))
            return
        unit = UNIT[self.output]
        assert_within(c.read(), expected.value, expected.error + unit * np.abs(expected.value))


def normal(rng: Any, shape: Any, dtype: Any = BF16) -> Any:
    return rng.standard_normal(shape).astype(dtype)


def two_operands(dtype: Any = BF16, right: Any = None) -> Callable[..., Arrays]:
    def make(rng: Any, m: int, n: int, k: int) -> Arrays:
        return normal(rng, (m, k), dtype), normal(rng, (k, n), right or dtype)

    return make


# -- the kernels -----------------------------------------------------------------------------------


@tl.kernel
def plain(c, a, b, *, tk: tl.Constant[int] = 64, acc_t: tl.Constant = tl.float32):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), acc_t)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def right_transposed(c, a, b, *, tk: tl.Constant[int] = 64, acc_t: tl.Constant = tl.float32):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), acc_t)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.T.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def in_tf32(c, a, b, *, tk: tl.Constant[int] = 32):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        x, y = a.load((i, k), (tm, tk)), b.T.load((k, j), (tk, tn))
        acc = tl.mma(x.to(tl.tfloat32), y.to(tl.tfloat32), acc)
    c.store(acc)


@tl.kernel
def two_into_one(c, a1, b1, a2, b2, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a1.num_tiles(1, tk)):
        acc = tl.mma(a1.load((i, k), (tm, tk)), b1.load((k, j), (tk, tn)), acc)
        acc = tl.mma(a2.load((i, k), (tm, tk)), b2.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def gated(c, a, b1, b2, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    gate, value = tl.zeros((tm, tn), tl.float32), tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        x = a.load((i, k), (tm, tk))
        gate = tl.mma(x, b1.load((k, j), (tk, tn)), gate)
        value = tl.mma(x, b2.load((k, j), (tk, tn)), value)
    c.store((gate * tl.sigmoid(gate) * value).to(c.dtype))


@tl.kernel
def converted(c, a, b, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        x, y = a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn))
        acc = tl.mma(x.to(tl.bfloat16), y.to(tl.bfloat16), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def scaled(c, a, b, scales, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        x = a.load((i, k), (tm, tk)) * scales.load((k,), (tk,))[None, :]
        acc = tl.mma(x, b.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def with_residual(c, a, b, r, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store((acc + r.load((i, j), (tm, tn)).to(tl.float32)).to(c.dtype))


@tl.kernel
def onto_another(c, a, b, start, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = start.load((i, j), (tm, tn))
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def bias_gelu(c, a, b, bias, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    x = acc + bias.load((j,), (tn,)).to(tl.float32)[None, :]
    c.store((0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))).to(c.dtype))


@tl.kernel
def every_second(c, a, b, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(1, a.num_tiles(1, tk), 2):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def as_many_as(c, a, b, turns, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(turns):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def as_many_as_data_say(c, a, b, turns, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(turns.load((i,), (1,)).item()):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def up_to_the_diagonal(c, a, b, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range((i + 1) * tm // tk):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def where_wanted(c, a, b, unwanted, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        x, y = a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn))
        if k != unwanted:
            acc = tl.mma(x, y, acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def chained(c, a, b, v, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for p in range(v.num_tiles(0, tk)):
        inner = tl.zeros((tm, tk), tl.float32)
        for k in range(a.num_tiles(1, tk)):
            inner = tl.mma(a.load((i, k), (tm, tk)), b.load((k, p), (tk, tk)), inner)
        acc = tl.mma(inner.to(tl.bfloat16), v.load((p, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


@tl.kernel
def outside_of_loops(c, a, b, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    x, y = a.load((i, 0), (tm, tk)), b.load((0, j), (tk, tn))
    c.store(tl.mma(x, y, tl.zeros((tm, tn), tl.float32)).to(c.dtype))


# -- operands and results --------------------------------------------------------------------------


def with_more(*shapes: str, dtype: Any = BF16) -> Callable[..., Arrays]:
    """a, b and arrays of which each shape names the extents: `with_more("mn")`."""

    def make(rng: Any, m: int, n: int, k: int) -> Arrays:
        extents = {"m": m, "n": n, "k": k}
        more = (normal(rng, tuple(extents[dim] for dim in shape), dtype) for shape in shapes)
        return normal(rng, (m, k)), normal(rng, (k, n)), *more

    return make


def integers(rng: Any, shape: Any) -> Any:
    return rng.integers(-128, 128, shape, np.int8)


def with_scalar(value: Callable[[int], int]) -> Callable[..., Arrays]:
    def make(rng: Any, m: int, n: int, k: int) -> Arrays:
        return normal(rng, (m, k)), normal(rng, (k, n)), value(k)

    return make


def with_counts(rng: Any, m: int, n: int, k: int) -> Arrays:
    counts = rng.integers(0, -(-k // 64) + 1, -(-m // 128), np.int32)
    return normal(rng, (m, k)), normal(rng, (k, n)), counts


def depth_of(a: Any, kept: Callable[[Any, Any], Any]) -> Any:
    """a with zeros where `kept(row, column)` is false."""
    rows, columns = np.indices(a.shape)
    return np.where(kept(rows, columns), double(a), 0)


def gate(a: Any, b1: Any, b2: Any) -> Bounded:
    left, right = product(a, b1), product(a, b2)
    silu = smooth(lambda x: x / (1 + np.exp(-x)), 1.1, left)
    error = np.abs(silu.value) * right.error + np.abs(right.value) * silu.error
    return Bounded(silu.value * right.value, 2 * error)


def erf_gelu(x: Any) -> Any:
    from math import erf

    return 0.5 * x * (1 + np.vectorize(erf, otypes=[float])(x * 0.7071067811865476))


def chain(a: Any, b: Any, v: Any) -> Bounded:
    inner = product(a, b)
    rounded = inner.value.astype(BF16).astype(np.float64)
    outer = product(rounded, v)
    # Intermediates may round to a neighbour of the reference's.
    slack = (2.0**-7 * np.abs(inner.value) + inner.error) @ np.abs(double(v))
    return Bounded(outer.value, outer.error + slack)


def in_bf16(a: Any) -> Any:
    return a.astype(np.float32).astype(BF16)


FOR_WGMMA = "only products of wgmma are fetched for"
FROM_DATA = (
    "threads load its left operand, and copies ahead serve mma.sync better: the elements of a tile "
    "decide how often it is loaded"
)
K_MAJOR = "8- and 32-bit operands have to lie along K, its right one does not"
NARROW = "the rows of its right operand are no multiple of 32 bytes"
WIDE_ONLY = "accumulators of wgmma have to be 32 bits wide"

CASES = {
    "two products into one accumulator": Case(
        two_into_one,
        lambda rng, m, n, k: (*two_operands()(rng, m, n, k), *two_operands()(rng, m, n, k)),
        lambda a1, b1, a2, b2: product(a1, b1) + product(a2, b2),
    ),
    "two right operands and a gate": Case(gated, with_more("kn"), gate),
    "two right operands and a gate, narrow": Case(gated, with_more("kn"), gate, (128, 64)),
    "left operand converted from f32": Case(
        converted, two_operands(F32, BF16), lambda a, b: product(in_bf16(a), b)
    ),
    "right operand converted from f32": Case(
        converted, two_operands(BF16, F32), lambda a, b: product(a, in_bf16(b))
    ),
    "both operands converted from f32": Case(
        converted,
        two_operands(F32),
        lambda a, b: product(in_bf16(a), in_bf16(b)),
        without_tma="its tile goes to registers, and TMA fetches what products read as it is",
    ),
    "right operand converted from int8": Case(
        converted,
        lambda rng, m, n, k: (normal(rng, (m, k)), integers(rng, (k, n))),
        product,
    ),
    "left operand scaled": Case(
        scaled, with_more("k"), lambda a, b, s: product(in_bf16(double(a) * double(s)), b)
    ),
    "residual in the epilogue": Case(
        with_residual, with_more("mn"), lambda a, b, r: product(a, b) + exact(r)
    ),
    "accumulator that starts from an array": Case(
        onto_another, with_more("mn", dtype=F32), lambda a, b, r: product(a, b) + exact(r)
    ),
    "bias and GELU": Case(
        bias_gelu,
        with_more("n"),
        lambda a, b, bias: smooth(erf_gelu, 1.2, product(a, b) + exact(bias)),
    ),
    "loop from 1 by 2": Case(
        every_second,
        two_operands(),
        lambda a, b: product(depth_of(a, lambda _, k: k // 64 % 2 == 1), b),
    ),
    "as many turns as a scalar says": Case(
        as_many_as,
        with_scalar(lambda k: k // 64),
        lambda a, b, turns: product(depth_of(a, lambda _, k: k < 64 * turns), b),
    ),
    "no turns, since a scalar says so": Case(
        as_many_as, with_scalar(lambda k: -1), lambda a, b, turns: exact(double(a) @ double(b) * 0)
    ),
    "as many turns as an array says": Case(
        as_many_as_data_say,
        with_counts,
        lambda a, b, turns: product(depth_of(a, lambda i, k: k < 64 * turns[i // 128]), b),
        without_tma=FOR_WGMMA,
        without_wgmma=FROM_DATA,
    ),
    "turns up to the diagonal": Case(
        up_to_the_diagonal,
        two_operands(),
        lambda a, b: product(depth_of(a, lambda i, k: k < 128 * (i // 128 + 1)), b),
    ),
    "a turn without its product": Case(
        where_wanted,
        with_scalar(lambda k: 1),
        lambda a, b, _: product(depth_of(a, lambda _, k: k // 64 != 1), b),
        without_tma="its product is not in every turn",
    ),
    "two chained products": Case(chained, with_more("nn"), chain),
    "product outside of loops": Case(
        outside_of_loops,
        two_operands(),
        lambda a, b: product(depth_of(a, lambda _, k: k < 64), b),
    ),
    "f16": Case(plain, two_operands(F16), product, output=F16),
    "f16 with an f32 result": Case(plain, two_operands(F16), product, output=F32),
    "f16 accumulated in f16": Case(
        plain,
        lambda rng, m, n, k: tuple(rng.integers(-2, 3, s).astype(F16) for s in ((m, k), (k, n))),
        product,
        output=F16,
        keywords={"acc_t": tl.float16},
        without_tma=FOR_WGMMA,
        without_wgmma=WIDE_ONLY,
    ),
    "e4m3, right transposed": Case(
        right_transposed,
        lambda rng, m, n, k: (normal(rng, (m, k), E4M3), normal(rng, (n, k), E4M3)),
        lambda a, b: product(a, b.T),
        keywords={"tk": 128},
    ),
    "e4m3": Case(
        plain,
        two_operands(E4M3),
        product,
        keywords={"tk": 128},
        without_tma=FOR_WGMMA,
        without_wgmma=K_MAJOR,
    ),
    "int8, right transposed": Case(
        right_transposed,
        lambda rng, m, n, k: (integers(rng, (m, k)), integers(rng, (n, k))),
        lambda a, b: exact(double(a) @ double(b.T)),
        output=I32,
        keywords={"tk": 128, "acc_t": tl.int32},
    ),
    "tf32, right transposed": Case(
        in_tf32,
        # What bf16 holds, tf32 does.
        lambda rng, m, n, k: tuple(normal(rng, s).astype(F32) for s in ((m, k), (n, k))),
        lambda a, b: product(a, b.T),
        output=F32,
    ),
    "columns of eight beyond sixteen": Case(
        plain, two_operands(), product, (128, 72), without_tma=FOR_WGMMA, without_wgmma=NARROW
    ),
    "tile of 24 columns": Case(
        plain, two_operands(), product, (64, 24), without_tma=FOR_WGMMA, without_wgmma=NARROW
    ),
    "tile of 160 columns": Case(plain, two_operands(), product, (128, 160)),
    "tile of 192 columns": Case(plain, two_operands(), product, (128, 192)),
    "one block of rows": Case(plain, two_operands(), product, (64, 256)),
}

#: Rows that the copy engine can take, and rows that it cannot.
SHAPES = [(200, 264, 200), (131, 259, 67)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CASES)
def test_nearly_a_product(place, rng, name, shape):
    CASES[name].run(place, rng, *shape)


@pytest.mark.parametrize(
    "shape", [(1, 264, 128), (264, 1, 128), (1, 1, 128), (264, 8, 128), (264, 24, 64), (7, 40, 192)]
)
@pytest.mark.parametrize("name", ["f16", "residual in the epilogue", "e4m3, right transposed"])
def test_outputs_of_few_rows_or_columns(place, rng, name, shape):
    CASES[name].run(place, rng, *shape)


@pytest.mark.parametrize("name", ["f16", "residual in the epilogue", "loop from 1 by 2"])
def test_product_without_depth_is_zero(place, rng, name):
    CASES[name].run(place, rng, 136, 264, 0)
