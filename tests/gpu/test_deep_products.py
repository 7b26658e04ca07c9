"""The cases of tilec_cases.deep_products on a GPU, and all numbers of CTAs that share a tile."""

import json

import pytest
import tilec_cases.gpu  # noqa: F401
from tilec_cases.deep_products import *  # noqa: F403
from tilec_cases.hopper_products import assert_is_product, random_values
from tilec_cases.nearly_products import BF16, F32, plain

import tilec as tl
from tilec.jit.configurations import Configuration
from tilec.jit.planning import Planned
from tilec.jit.tune import PinnedKernel


@pytest.mark.parametrize("parts", range(2, 9))
@pytest.mark.parametrize("schedule", ["cooperative", "single", "sync"])
@pytest.mark.parametrize("shape", [(200, 136, 1992), (200, 75, 1300), (128, 128, 320)])
def test_every_number_of_parts(place, rng, parts, schedule, shape):
    m, n, k = shape
    if schedule != "sync" and n % 8 != 0:
        pytest.skip("TMA cannot take these rows")
    tile, warps = {
        "cooperative": ((128, 128), 8),
        "single": ((64, 128), 4),
        "sync": ((64, 32), 0),
    }[schedule]
    plan = {"schedule": schedule, "split_k": parts, "num_warps": warps}
    pinned = PinnedKernel(plain, Configuration(planned=Planned(tile, json.dumps(plan))))
    a, b = random_values(rng, (m, k), BF16), random_values(rng, (k, n), BF16)
    outputs = [place.output((m, n), F32, gap_elems=8) for _ in range(20)]
    x, y = place.array(a), place.array(b)
    for output in outputs:
        pinned(tl.partition(output.array, tl.AUTO), x, y)
    results = [output.read() for output in outputs]
    assert_is_product(results[0], a, b)
    assert all(other.tobytes() == results[0].tobytes() for other in results)
