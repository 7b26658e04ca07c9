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
