"""The kernel library compiles and assembles for every target, and into the instructions meant."""

import importlib
import pkgutil
import re

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
import tilec.kernels
from tilec.compiler.target import TARGETS
from tilec.jit.described import parse_arguments

EXAMPLES = {
    name: (getattr(module, name), arguments if isinstance(arguments, str) else arguments[0])
    for info in pkgutil.iter_modules(tilec.kernels.__path__, "tilec.kernels.")
    for module in [importlib.import_module(info.name)]
    for name, arguments in getattr(module, "__tilec_examples__", {}).items()
}


def compiled(name, target, arguments=None):
    kernel, example = EXAMPLES[name]
    args, kwargs = parse_arguments(arguments or example)
    return kernel.compile(*args, target=target, phases=(), **kwargs)


def count(pattern, ptx):
    return len(re.findall(rf"^\s*(?:@\S+\s+)?{pattern}", ptx, re.MULTILINE))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_library_kernel_assembles_without_spills(name, target):
    result = compiled(name, target)
    assert result.cubin, result.assembler_log
    assert result.resources.spill_bytes == 0
    assert result.resources.stack_bytes == 0
    assert count(r"call\b", result.ptx) == 0
    assert ".extern .func" not in result.ptx


def test_softmax_takes_one_exponential_an_element():
    result = compiled("softmax_kernel", "sm_90a")
    elements = 4096 // result.plan["threads"]
    assert count(r"ex2\.approx\.ftz\.f32", result.ptx) == elements
    # 16 bytes an access, each element read and written once.
    assert count(r"ld\.global\S*\.v4", result.ptx) == elements * 2 // 16
    assert count(r"st\.global\S*\.v4", result.ptx) == elements * 2 // 16


def test_softmax_divides_once_a_row():
    result = compiled("softmax_kernel", "sm_90a")
    assert count(r"div\.", result.ptx) == 1


def test_layernorm_takes_one_reciprocal_root_a_row():
    result = compiled("layernorm_kernel", "sm_90a")
    assert count(r"rsqrt\.approx\.f32", result.ptx) == 1
    assert count(r"div\.rn", result.ptx) <= 2  # mean and variance
    assert count(r"ex2", result.ptx) == 0


def test_matmul_multiplies_on_tensor_cores():
    for target in set(TARGETS) - {"sm_90a"}:
        ptx = compiled("matmul_kernel", target).ptx
        assert count(r"mma\.sync\.aligned\.m16n8k16", ptx) > 0
        assert count(r"ldmatrix", ptx) > 0


def test_matmul_on_hopper_is_asynchronous_throughout():
    result = compiled("matmul_kernel", "sm_90a")
    assert (
        count(r"wgmma\.mma_async\.sync\.aligned\.m64n128k16\.f32\.bf16\.bf16", result.ptx) == 2 * 4
    )
    assert count(r"cp\.async\.bulk\.tensor\.2d\.shared", result.ptx) == 3
    assert count(r"cp\.async\.bulk\.tensor\.2d\.global", result.ptx) == 4
    assert count(r"stmatrix", result.ptx) == 16
    assert count(r"(ld|st)\.global", result.ptx) == 0
    assert result.resources.notes == ()  # nothing serialises the products
    assert [p["kind"] for p in result.plan["params"]].count("tensor_map") == 3
    assert result.plan["grid"]["persistent"]


@pytest.mark.parametrize(
    "tile", [(64, 64), (64, 256), (128, 128), (128, 160), (128, 256), (256, 128)]
)
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_matmul_of_any_operand_order_stays_asynchronous(tile, transposed):
    bf16 = np.dtype(ml_dtypes.bfloat16)
    a, b, c = np.zeros((512, 512), bf16), np.zeros((512, 960), bf16), np.zeros((512, 960), bf16)
    if "a" in transposed:
        a = np.zeros((512, 512), bf16).T
    if "b" in transposed:
        b = np.zeros((960, 512), bf16).T
    result = EXAMPLES["matmul_kernel"][0].compile(tl.partition(c, tile), a, b, target="sm_90a")
    assert count(r"wgmma\.mma_async", result.ptx) > 0
    assert result.resources.spill_bytes == 0
    assert result.resources.stack_bytes == 0
    assert result.resources.notes == ()
