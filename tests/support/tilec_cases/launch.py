"""Scalar arguments and what they may hold: cases that broke other tile compilers."""

import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import assert_exact

# -- integer arguments of every width (triton PR 413, numba-cuda PR 774) ---------------------------

X = np.array([0, 1, -1, 5], np.int64)


@tl.kernel
def add_scalar(y, x, s):
    y.store(x.load_like(y) + s)


@tl.kernel
def add_constant(y, x, *, s: tl.Constant[int]):
    y.store(x.load_like(y) + s)


@tl.kernel
def add_in_loop(y, x, s):
    acc = x.load_like(y)
    for _ in range(s):
        acc += 1
    y.store(acc)


@tl.kernel
def add_at_index(y, x, s):
    y.store(x.load_like(y) + x.gather((tl.full((4,), s, tl.int64),), fill=100))


def wrapped(value):
    return (value + 2**63) % 2**64 - 2**63


def test_integer_argument_of_any_width_keeps_its_value(place):
    """One process, so that no call inherits the width of an earlier one."""
    values = [1, 0, 16, 2**31 - 1, 2**31, np.int8(-1), 2**32 + 1, -(2**31) - 1, 2**63 - 1, -(2**63)]
    for s in [*values, *reversed(values)]:
        y = place.output(4, np.int64)
        add_scalar(tl.partition(y.array, (4,)), place.array(X), s)
        expected = [wrapped(int(x) + int(s)) for x in X]
        assert_exact(y.read(), np.array(expected, np.int64))


@pytest.mark.parametrize("s", [2**64, -(2**63) - 1, 2**100])
def test_integer_argument_too_wide_is_refused_by_name(place, s):
    y = place.output(4, np.int64)
    with pytest.raises(tl.TilecError, match=r"\bs\b"):
        add_scalar(tl.partition(y.array, (4,)), place.array(X), s)
    assert_exact(y.read(), np.full(4, -1))


def test_integer_argument_beyond_signed_is_unsigned_or_refused(place):
    y = place.output(4, np.uint64)
    try:
        add_scalar(tl.partition(y.array, (4,)), place.array(X.view(np.uint64)), 2**63)
    except tl.TilecError as error:
        assert "s" in str(error)
    else:
        assert_exact(y.read(), X.view(np.uint64) + np.uint64(2**63))


@pytest.mark.parametrize("s", [0, 1, 5, 16])
@pytest.mark.parametrize("kernel", [add_in_loop, add_constant, add_at_index])
def test_integer_argument_as_bound_constant_and_index(place, kernel, s):
    y = place.output(4, np.int64)
    arguments = tl.partition(y.array, (4,)), place.array(X)
    if kernel is add_constant:
        kernel(*arguments, s=s)
    else:
        kernel(*arguments, s)
    added = (X[s] if s < 4 else 100) if kernel is add_at_index else s
    assert_exact(y.read(), X + added)


@tl.kernel
def float_and_bool(y, x, scale, negate):
    t = x.load_like(y) * scale
    if negate:
        t = -t
    y.store(t)


@pytest.mark.parametrize("scale", [1.0, 0.5, 3, np.float32(0.25), np.float64(2.0)])
@pytest.mark.parametrize("negate", [True, False])
def test_float_and_bool_arguments(place, rng, scale, negate):
    x = rng.standard_normal(4).astype(np.float32)
    y = place.output(4, np.float32)
    float_and_bool(tl.partition(y.array, (4,)), place.array(x), scale, negate)
    expected = x * np.float32(scale)
    assert_exact(y.read(), -expected if negate else expected)


# -- what a launch refuses, writing nothing --------------------------------------------------------


@tl.kernel
def copy(y, x):
    y.store(x.load_like(y))


@tl.kernel
def copy_two(y, z, x):
    y.store(x.load_like(y))
    z.store(x.load_like(z))


def refused(place, call, *words):
    y = place.output(8, np.float32)
    with pytest.raises(tl.LaunchError) as error:
        call(y.array)
    for word in words:
        assert word in str(error.value)
    assert np.isnan(y.read()).all()


def ones(place, size=8, dtype=np.float32):
    return place.array(np.ones(size, dtype))


def test_different_tile_grids_are_refused(place):
    z = place.output(9, np.float32)
    refused(
        place,
        lambda y: copy_two(tl.partition(y, (4,)), tl.partition(z.array, (4,)), ones(place)),
        "y", "z",
    )  # fmt: skip


def test_output_that_overlaps_an_input_is_refused(place):
    base = place.output(8, np.float32)
    with pytest.raises(tl.LaunchError, match="shares memory"):
        copy(tl.partition(base.array[0:4], (4,)), base.array[2:6])
    assert np.isnan(base.read()).all()


def test_two_outputs_that_overlap_are_refused(place):
    base = place.output(8, np.float32)
    with pytest.raises(tl.LaunchError, match="shares memory"):
        copy_two(
            tl.partition(base.array[0:4], (4,)), tl.partition(base.array[3:7], (4,)), ones(place, 4)
        )
    assert np.isnan(base.read()).all()


def test_interleaved_outputs_that_share_no_element_are_accepted(place):
    base = place.output(8, np.float32)
    copy_two(
        tl.partition(base.array[0::2], (4,)), tl.partition(base.array[1::2], (4,)), ones(place, 4)
    )
    assert_exact(base.read(), np.ones(8, np.float32))


def test_rank_of_a_partition_must_be_the_array_s(place):
    refused(place, lambda y: copy(tl.partition(y, (4, 4)), ones(place)))


def test_missing_argument_is_refused(place):
    y = place.output(8, np.float32)
    with pytest.raises((tl.TilecError, TypeError), match="x"):
        copy(tl.partition(y.array, (4,)))
