"""Every kernel of the library compiles for every target, without a GPU."""

import importlib
import pkgutil

import pytest

import tilec.kernels
from tilec.compiler.target import TARGETS
from tilec.jit.described import parse_arguments


def examples():
    """The arguments that each module gives for its kernels."""
    for module in pkgutil.iter_modules(tilec.kernels.__path__):
        loaded = importlib.import_module(f"tilec.kernels.{module.name}")
        for name, arguments in getattr(loaded, "__tilec_examples__", {}).items():
            yield pytest.param(getattr(loaded, name), arguments, id=name)


def compiled(kernel, arguments, target):
    positional, named = parse_arguments(arguments)
    return kernel.compile(*positional, target=target, **named)


@pytest.mark.parametrize("target", list(TARGETS))
@pytest.mark.parametrize(("kernel", "arguments"), list(examples()))
def test_library_kernel_compiles_for_every_target(kernel, arguments, target):
    result = compiled(kernel, arguments, target)
    assert f".target {target}" in result.ptx
    assert result.cubin
    assert result.resources.spill_store_bytes == result.resources.spill_load_bytes == 0
    assert result.resources.stack_bytes == 0


@pytest.mark.parametrize("columns", [1, 7, 1185, 1953, 12288])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_row_kernels_compile_for_odd_rows(columns, dtype):
    from tilec.kernels.layernorm import layernorm_kernel
    from tilec.kernels.softmax import softmax_kernel

    row = f"{dtype}[64,{columns}]"
    part = f"{row}:partition(1,{columns})"
    weight = f"{dtype}[{columns}]"
    assert compiled(softmax_kernel, f"{part} {row}", "sm_90a").cubin
    assert compiled(layernorm_kernel, f"{part} {row} {weight} {weight} 1e-5", "sm_90a").cubin
