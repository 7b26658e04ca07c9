"""Tiles that three warpgroups share keep their contract: wgmma, TMA, and nothing spilled."""

import numpy as np
import pytest
from tilec_cases import nearly_products, three_warpgroups
from tilec_cases.nearly_products import BF16, E4M3, F16, F32, I8, I32

import tilec as tl

TARGET = "sm_90a"
PLAIN, IN_TF32 = (
    three_warpgroups.demanding(kernel.function)
    for kernel in (nearly_products.plain, nearly_products.in_tf32)
)


def compiled(kernel, *arguments, **keywords):
    result = kernel.compile(*arguments, target=TARGET, **keywords)
    assert result.plan["threads"] == 512
    assert result.resources.stack_bytes == 0
    assert result.resources.registers <= 128  # of 512 threads
    return result


def product(dtype, output, tile, transposed=""):
    a, b = np.zeros((768, 512), dtype), np.zeros((512, 768), dtype)
    a = np.asfortranarray(a) if "a" in transposed else a
    b = np.asfortranarray(b) if "b" in transposed else b
    part = tl.partition(np.zeros((768, 768), output), tile)
    if dtype == F32:
        return compiled(IN_TF32, part, a, b.T)
    if dtype == I8:
        return compiled(PLAIN, part, a, b, tk=128, acc_t=tl.int32)
    return compiled(PLAIN, part, a, b, tk=128 // np.dtype(dtype).itemsize)


@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
@pytest.mark.parametrize("tile", [(192, 192), (192, 128), (192, 256), (192, 224), (384, 96)])
def test_product_keeps_its_contract(tile, transposed):
    product(BF16, BF16, tile, transposed)


@pytest.mark.parametrize(
    ("dtype", "output", "transposed"),
    [
        (F16, F16, ""),
        (F16, F32, "ab"),
        (BF16, F32, ""),
        (E4M3, BF16, "b"),
        (F32, F32, "b"),
        (I8, I32, "b"),
    ],
)
@pytest.mark.parametrize("tile", [(192, 192), (192, 128)])
def test_product_of_other_types_keeps_its_contract(tile, dtype, output, transposed):
    product(dtype, output, tile, transposed)


@pytest.mark.parametrize("name", three_warpgroups.EPILOGUES)
def test_product_and_more_keeps_its_contract(rng, name):
    case = three_warpgroups.EPILOGUES[name]
    operands = case.operands(rng, 512, 1024, 256)
    part = tl.partition(np.zeros((512, 1024), case.output), case.tile)
    compiled(case.kernel, part, *operands, **case.keywords)


def test_reductions_of_accumulators_keep_their_contract():
    a, b = np.zeros((384, 256), BF16), np.zeros((256, 384), BF16)
    part = tl.partition(np.zeros((384, 384), F32), (192, 96))
    compiled(three_warpgroups.columns_then_rows, part, a, b)
