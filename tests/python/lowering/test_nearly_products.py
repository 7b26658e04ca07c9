"""What becomes of kernels that are nearly a matrix product on Hopper."""

import re

import numpy as np
import pytest
from tilec_cases.nearly_products import CASES
from warp_roles import assert_sound, compile_kernel

import tilec as tl

CTAS = 2


def compiled(case):
    operands = case.operands(np.random.default_rng(0), 256, 512, 256)
    c = np.zeros((256, 512), case.output)
    return compile_kernel(case.kernel, tl.partition(c, case.tile), *operands, **case.keywords)


@pytest.mark.parametrize("name", CASES)
def test_products_are_fetched_by_tma_and_multiplied_by_wgmma(name):
    case = CASES[name]
    text = compiled(case).tilegpu
    is_wgmma = set(re.findall(r"tilegpu\.mma (\w+)", text)) == {"wgmma"}
    assert is_wgmma == (not case.without_wgmma)
    assert ("tilegpu.tma_load" in text) == (not case.without_tma)


@pytest.mark.parametrize("name", CASES)
def test_the_plan_says_what_kept_products_from_wgmma_and_loads_from_tma(name):
    case = CASES[name]
    operands = case.operands(np.random.default_rng(0), 256, 512, 256)
    output = tl.partition(np.zeros((256, 512), case.output), case.tile)
    decisions = case.kernel.compile(
        output, *operands, target="sm_90a", phases=(), **case.keywords
    ).decisions
    products = [item for item in decisions if item.subject == "product"]
    assert {item.reason for item in products} == {case.without_wgmma}
    assert {item.outcome == "wgmma" for item in products} == {not case.without_wgmma}
    loads = [item for item in decisions if item.subject == "load"]
    assert any(item.outcome == "TMA" for item in loads) == (not case.without_tma)
    # Every load that threads do has its reason, and the case's is among them.
    reasons = {item.reason for item in loads if item.missed}
    assert "" not in reasons
    assert not case.without_tma or case.without_tma in reasons
    assert {item.reason == "" for item in decisions if item.subject == "store"} == {
        any(item.outcome == "TMA" for item in decisions if item.subject == "store")
    }
    stages = [item.outcome for item in decisions if item.subject == "stages"]
    assert bool(stages) == (not case.without_tma)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.without_tma])
@pytest.mark.parametrize("turns", [1, 4])
def test_roles_are_sound(name, turns):
    case = CASES[name]
    tile_m, tile_n = case.tile
    m, n, k = tile_m * CTAS, tile_n * 3, turns * case.keywords.get("tk", 64)
    operands = case.operands(np.random.default_rng(0), m, n, k)
    kernel = compiled(case)
    names = re.search(r"arg_names = \[(.*?)\]", kernel.tile)[1].replace('"', "").split(", ")
    values = [x.shape if isinstance(x, np.ndarray) else x for x in operands]
    arguments = dict(zip(names, [(m, n), *values], strict=True))
    assert_sound(kernel, arguments, CTAS, seeds=6)
