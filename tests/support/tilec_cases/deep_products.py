"""Products of few tiles and much depth, which CTAs of a cluster share on Hopper."""

from __future__ import annotations

import numpy as np
import pytest

import tilec as tl
from tilec_cases.checks import UNIT, assert_within, double
from tilec_cases.exchanged_products import with_bias_and_residual
from tilec_cases.hopper_products import assert_is_product, random_values
from tilec_cases.nearly_products import BF16, F32, plain, product

# The last ones have rows that TMA cannot take, which other kernels multiply.
SHAPES = [
    (64, 64, 4096),
    (256, 192, 2048),
    (100, 72, 3000),
    (130, 200, 1500),
    (16, 1000, 4096),
    (100, 75, 3000),
    (60, 64, 2999),
]


@pytest.mark.parametrize("output", [BF16, F32])
@pytest.mark.parametrize("shape", SHAPES)
def test_product(place, rng, shape, output):
    m, n, k = shape
    a, b = random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)
    results = []
    for _ in range(3):
        c = place.output((m, n), output, gap_elems=8)
        plain(tl.partition(c.array, tl.AUTO), place.array(a), place.array(b))
        results.append(c.read())
    assert_is_product(results[0], a, b)
    assert all(other.tobytes() == results[0].tobytes() for other in results)


@pytest.mark.parametrize("shape", SHAPES)
def test_epilogue_that_reads_a_row_and_a_tile(place, rng, shape):
    m, n, k = shape
    a, b = random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)
    bias, residual = random_values(rng, (1, n), BF16)[0], random_values(rng, (m, n), BF16)
    c = place.output((m, n), BF16, gap_elems=8)
    given = [place.array(x) for x in (a, b, bias, residual)]
    with_bias_and_residual(tl.partition(c.array, tl.AUTO), *given)
    exact = product(a, b)
    value = exact.value + double(bias) + double(residual)
    rounding = 2.0**-22 * (np.abs(exact.value) + np.abs(double(bias)) + np.abs(double(residual)))
    assert_within(c.read(), value, exact.error + rounding + UNIT[BF16] * np.abs(value))
