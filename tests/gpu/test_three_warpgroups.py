"""The cases of tilec_cases.three_warpgroups on a GPU, and large ones."""

import pytest
import tilec_cases.gpu  # noqa: F401
from tilec_cases.three_warpgroups import *  # noqa: F403
from tilec_cases.three_warpgroups import BF16, assert_is_product, multiply, random_values


@pytest.mark.parametrize("tile", [(192, 192), (192, 128), (192, 256)])
@pytest.mark.parametrize("shape", [(4100, 2060, 72), (1031, 5003, 1000), (640, 16000, 264)])
def test_many_tiles_a_cta(place, rng, tile, shape):
    m, n, k = shape
    a, b = random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)
    assert_is_product(multiply(place, a, b, tile, BF16), a, b)


def test_launches_of_short_loops_are_equal(place, rng):
    """Small loops, where warps may drift apart: every launch ends and gives the same."""
    a, b = random_values(rng, (1500, 64), BF16), random_values(rng, (64, 3000), BF16)
    first = multiply(place, a, b, (192, 192), BF16)
    assert_is_product(first, a, b)
    for _ in range(50):
        assert multiply(place, a, b, (192, 192), BF16).tobytes() == first.tobytes()
