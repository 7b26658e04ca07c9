"""The overlap tests against brute force, over thousands of random arrays."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from tilec._runtime import array_overlaps_itself, arrays_overlap

Array = tuple[int, tuple[int, ...], tuple[int, ...], int]


def element_addresses(array: Array) -> list[int]:
    pointer, shape, strides, _ = array
    indices = itertools.product(*map(range, shape))
    return [pointer + sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices]


def bytes_of(array: Array) -> list[int]:
    return [a + b for a in element_addresses(array) for b in range(array[3])]


def random_array(rng: random.Random, strides: Sequence[int]) -> Array:
    rank = rng.randint(0, 4)
    shape = tuple(rng.choice((0, 1, 1, 2, 3, 4, 5)) if rank else 1 for _ in range(rank))
    steps = tuple(rng.choice(strides) * rng.choice((1, 1, -1)) for _ in range(rank))
    return rng.randint(1000, 1060), shape, steps, rng.choice((1, 2, 4, 8))


STRIDE_FAMILIES = [
    (0, 1, 2, 3, 4, 5, 7),  # interleaved
    (1, 4, 16, 64),  # nested
    (0, 4, 8, 12, 20, 60),  # element-sized and gapped
    (6, 10, 15),  # pairwise common divisors
]


@pytest.mark.parametrize("strides", STRIDE_FAMILIES, ids=str)
def test_overlap_of_random_arrays_equals_brute_force(strides):
    rng = random.Random(7)
    found = {"none": 0, "some": 0}
    for _ in range(3000):
        a, b = random_array(rng, strides), random_array(rng, strides)
        expected = "some" if set(bytes_of(a)) & set(bytes_of(b)) else "none"
        assert arrays_overlap(a, b) == expected, (a, b)
        assert arrays_overlap(b, a) == expected, (b, a)
        found[expected] += 1
    assert min(found.values()) > 100  # both answers were put to the test


@pytest.mark.parametrize("strides", STRIDE_FAMILIES, ids=str)
def test_self_overlap_of_random_arrays_equals_brute_force(strides):
    rng = random.Random(11)
    found = {"none": 0, "some": 0}
    for _ in range(3000):
        array = random_array(rng, strides)
        addresses = bytes_of(array)
        expected = "some" if len(set(addresses)) < len(addresses) else "none"
        assert array_overlaps_itself(array) == expected, array
        found[expected] += 1
    assert min(found.values()) > 100


def test_column_slices_of_one_buffer_are_disjoint():
    left = (0, (1000, 64), (512, 4), 4)
    right = (256, (1000, 64), (512, 4), 4)
    assert arrays_overlap(left, right) == "none"
    assert arrays_overlap(left, (252, (1000, 64), (512, 4), 4)) == "some"


def test_even_and_odd_columns_are_disjoint():
    even = (0, (100, 50), (400, 8), 4)
    odd = (4, (100, 50), (400, 8), 4)
    assert arrays_overlap(even, odd) == "none"
    assert arrays_overlap(even, (0, (100, 50), (400, 8), 8)) == "some"


def test_reversed_and_transposed_views_of_one_buffer_overlap():
    rows = (0, (64, 64), (256, 4), 4)
    assert arrays_overlap(rows, (63 * 256, (64, 64), (-256, 4), 4)) == "some"
    assert arrays_overlap(rows, (0, (64, 64), (4, 256), 4)) == "some"


def test_huge_arrays_are_decided_without_enumeration():
    tall = (0, (2**40, 3), (2**22, 2**20), 4)
    assert arrays_overlap(tall, (2**19, (2**40, 3), (2**22, 2**20), 4)) == "none"
    assert arrays_overlap(tall, (2**20 * 2 + 2, (2**40, 3), (2**22, 2**20), 4)) == "some"
    assert array_overlaps_itself(tall) == "none"


def test_search_that_takes_too_long_is_undecided_not_wrong():
    # Subset sums over many close strides: the hard kernel of the problem.
    strides = tuple(10**9 + 7 * k * k + k for k in range(8))
    a = (0, (9,) * 8, strides, 1)
    b = (12345, (9,) * 8, tuple(s + 3 for s in strides), 1)
    assert arrays_overlap(a, b) in ("none", "undecided")
