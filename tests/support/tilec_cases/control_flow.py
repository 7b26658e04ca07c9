"""Control flow and tracing: cases that broke other tile compilers."""

import functools

import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import assert_exact, assert_product, assert_within

# -- a value bound in a loop or branch only (triton #10672, #9122) ---------------------------------


@tl.kernel
def bound_in_constant_loop(y, x):
    for _ in range(1):
        v = x.load_like(y)
    y.store(v)


@tl.kernel
def bound_in_loop(y, x, n):
    for _ in range(n):
        v = x.load_like(y)
    y.store(v)


@tl.kernel
def bound_under_constant(y, x, *, flag: tl.Constant[bool]):
    if flag:
        v = x.load_like(y)
    y.store(v)


@tl.kernel
def bound_under_condition(y, x, flag):
    if flag > 0:
        v = x.load_like(y)
    y.store(v)


def test_value_bound_once_for_certain_is_known_after(place, rng):
    x = rng.standard_normal(8).astype(np.float32)
    for kernel, keywords in ((bound_in_constant_loop, {}), (bound_under_constant, {"flag": True})):
        y = place.output(8, np.float32)
        kernel(tl.partition(y.array, (8,)), place.array(x), **keywords)
        assert_exact(y.read(), x)


@pytest.mark.parametrize("kernel", [bound_in_loop, bound_under_condition])
@pytest.mark.parametrize("n", [0, 1])
def test_value_bound_perhaps_is_refused_by_name(place, kernel, n):
    x = place.array(np.ones(8, np.float32))
    y = place.output(8, np.float32)
    with pytest.raises(tl.TraceError, match=r"\bv\b"):
        kernel(tl.partition(y.array, (8,)), x, n)


# -- a scalar changed under `if` in a loop (cutile-python #93) -------------------------------------


@tl.kernel
def countdown(y, stop):
    (c,) = y.index
    for i in range(stop):
        if c > i:
            c = c - (i + 1)
    y.store(tl.full((1,), c, tl.int32))


@pytest.mark.parametrize("stop", [0, 1, 2, 3, 4])
def test_scalar_changed_under_if_in_a_loop_is_carried(place, stop):
    y = place.output(8, np.int32)
    countdown(tl.partition(y.array, (1,)), stop)
    expected = []
    for c in range(8):
        for i in range(stop):
            if c > i:
                c = c - (i + 1)
        expected.append(c)
    assert_exact(y.read(), np.array(expected, np.int32))


# -- the `else` of a loop (tilelang #2946) ---------------------------------------------------------


@tl.kernel
def loop_else(y, n, x):
    v = 0
    for i in range(n):
        if i == x:
            break
    else:
        v = v + 100
    y.store(tl.full((1,), v, tl.int32))


@pytest.mark.parametrize(("x", "expected"), [(2, 0), (9, 100)])
def test_else_of_a_loop_runs_without_break_or_is_refused(place, x, expected):
    y = place.output(1, np.int32)
    try:
        loop_else(tl.partition(y.array, (1,)), 4, x)
    except tl.TraceError as error:
        assert "else" in str(error)
        assert error.frames
    else:
        assert_exact(y.read(), np.array([expected], np.int32))


# -- arguments equal to one stay arguments (triton #9547) ------------------------------------------


@tl.kernel
def strided_gather(y, a, s0, s1):
    acc = tl.zeros((1,), tl.int32)
    s = s0
    for i in range(0, 8, 2):
        acc += a.gather((tl.full((1,), i * s, tl.int32),))
        s = s1
    y.store(acc)


def test_scalar_argument_equal_to_one_can_be_reassigned(place):
    a = np.arange(64, dtype=np.int32)
    for s0, s1 in [(1, 1), (1, 3), (16, 1), (0, 1)]:
        y = place.output(1, np.int32)
        strided_gather(tl.partition(y.array, (1,)), place.array(a), s0, s1)
        assert_exact(y.read(), np.array([a[0] + sum(a[i * s1] for i in (2, 4, 6))], np.int32))


# -- accumulators that change type (triton #2462, #646) --------------------------------------------


@tl.kernel
def scalar_accumulator(y, x):
    acc = 0.0
    for k in range(x.num_tiles(0, 64)):
        acc += tl.sum(x.load((k,), (64,)))
    y.store(tl.full((1,), acc, tl.float32))


@tl.kernel
def integer_start(y, x):
    acc = 0
    for k in range(x.num_tiles(0, 64)):
        acc += tl.sum(x.load((k,), (64,)))
    y.store(tl.full((1,), acc, tl.float32))


@tl.kernel
def half_accumulator(y, x):
    acc = tl.zeros((64,), tl.float16)
    for k in range(x.num_tiles(0, 64)):
        acc += x.load((k,), (64,))
    y.store(tl.sum(acc.to(tl.float32), axis=0, keepdims=True))


@pytest.mark.parametrize("kernel", [scalar_accumulator, integer_start, half_accumulator])
def test_accumulator_of_another_type_sums_or_is_refused_by_name(place, rng, kernel):
    x = rng.standard_normal(640).astype(np.float32)
    y = place.output(1, np.float32)
    try:
        kernel(tl.partition(y.array, (1,)), place.array(x))
    except tl.TraceError as error:
        assert "acc" in str(error)
        assert error.frames
    else:
        assert_within(y.read(), [x.astype(np.float64).sum()], 1e-6 * np.abs(x).sum())


# -- tiles carried across iterations (warp #1439) --------------------------------------------------


@tl.kernel
def pipelined(c, a, b):
    i, j = c.index
    acc = tl.zeros((8, 4), tl.float32)
    a_now, b_now = a.load((i, 0), (8, 8)), b.load((0, j), (8, 4))
    for k in range(1, a.num_tiles(1, 8)):
        a_next, b_next = a.load((i, k), (8, 8)), b.load((k, j), (8, 4))
        acc = tl.mma(a_now, b_now, acc)
        a_now, b_now = a_next, b_next
    c.store(tl.mma(a_now, b_now, acc))


def test_tiles_loaded_ahead_are_carried(place, rng):
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((16, 64), (64, 8)))
    c = place.output((16, 8), np.float32)
    pipelined(tl.partition(c.array, (8, 4)), place.array(a), place.array(b))
    assert_product(c.read(), a, b)


@tl.kernel
def fibonacci(y, z, n):
    a, b = tl.zeros((4,), tl.int32), tl.ones((4,), tl.int32)
    for _ in range(n):
        a, b = b, a + b
    y.store(a)
    z.store(b)


def test_two_carried_tiles_swap(place):
    y, z = place.output(4, np.int32), place.output(4, np.int32)
    fibonacci(tl.partition(y.array, (4,)), tl.partition(z.array, (4,)), 10)
    assert_exact(y.read(), np.full(4, 55, np.int32))
    assert_exact(z.read(), np.full(4, 89, np.int32))


# -- helper functions (triton PR 1429, #2440) ------------------------------------------------------


def plain(x):
    return x * 2 + 1


def with_default(x, scale=2, shift=1):
    return x * scale + shift


def closure(scale):
    def inner(x):
        return x * scale + 1

    return inner


class Line:
    def __init__(self, scale):
        self.scale = scale

    def at(self, x):
        return x * self.scale + 1


def tree_sum(values):
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return tree_sum(values[:half]) + tree_sum(values[half:])


@tl.kernel
def by_plain(y, x):
    y.store(plain(x.load_like(y)))


@tl.kernel
def by_lambda(y, x):
    double = lambda t: t * 2  # noqa: E731
    y.store(double(x.load_like(y)) + 1)


@tl.kernel
def by_default(y, x):
    y.store(with_default(x.load_like(y)))


@tl.kernel
def by_partial(y, x):
    y.store(functools.partial(with_default, shift=1)(x.load_like(y)))


_closed = closure(2)
_line = Line(2)


@tl.kernel
def by_closure(y, x):
    y.store(_closed(x.load_like(y)))


@tl.kernel
def by_method(y, x):
    y.store(_line.at(x.load_like(y)))


@tl.kernel
def by_recursion(y, x):
    t = x.load_like(y)
    y.store(tree_sum([t, t, tl.full((8,), 1.0, tl.float32)]))


@pytest.mark.parametrize(
    "kernel", [by_plain, by_lambda, by_default, by_partial, by_closure, by_method, by_recursion]
)
def test_helpers_of_every_kind_are_inlined(place, rng, kernel):
    x = rng.standard_normal(8).astype(np.float32)
    y = place.output(8, np.float32)
    kernel(tl.partition(y.array, (8,)), place.array(x))
    assert_within(y.read(), x * 2.0 + 1.0, 2.0**-22 * (np.abs(x) + 1))


def endless(x):
    return endless(x)


@tl.kernel
def calls_endless(y, x):
    y.store(endless(x.load_like(y)))


@tl.kernel
def calls_kernel(y, x):
    by_plain(y, x)


@pytest.mark.parametrize("kernel", [calls_endless, calls_kernel])
def test_unbounded_recursion_and_kernel_in_kernel_are_refused(place, kernel):
    y, x = place.output(8, np.float32), place.array(np.ones(8, np.float32))
    with pytest.raises(tl.TilecError) as error:
        kernel(tl.partition(y.array, (8,)), x)
    assert error.value.frames
