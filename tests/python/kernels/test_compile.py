"""Every kernel of the library compiles for every target, without a GPU."""

import importlib
import pkgutil

import pytest

import tilec as tl
import tilec.kernels
from tilec.compiler.target import TARGETS
from tilec.jit.described import parse_arguments


def examples():
    """The arguments that each module gives for its kernels."""
    for module in pkgutil.iter_modules(tilec.kernels.__path__):
        loaded = importlib.import_module(f"tilec.kernels.{module.name}")
        for name, arguments in getattr(loaded, "__tilec_examples__", {}).items():
            texts = (arguments,) if isinstance(arguments, str) else arguments
            for number, text in enumerate(texts):
                yield pytest.param(getattr(loaded, name), text, id=f"{name}-{number}")


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


# -- contracts: every product of the library on Hopper ---------------------------------------------

HOPPER_PRODUCTS = {
    "bf16": "bf16[{m},{n}]:partition(auto) bf16[{m},{k}] bf16[{k},{n}]",
    "f16": "f16[{m},{n}]:partition(auto) f16[{m},{k}] f16[{k},{n}]",
    "bf16-to-f32": "f32[{m},{n}]:partition(auto) bf16[{m},{k}] bf16[{k},{n}]",
    "e4m3": "bf16[{m},{n}]:partition(auto) e4m3[{m},{k}] e4m3[{k},{n}]:strides(1,{k})",
    "e5m2": "f32[{m},{n}]:partition(auto) e5m2[{m},{k}] e4m3[{k},{n}]:strides(1,{k})",
    "tf32": "f32[{m},{n}]:partition(auto) f32[{m},{k}] f32[{k},{n}]:strides(1,{k}) tf32=True",
    "i8": "i32[{m},{n}]:partition(auto) i8[{m},{k}] i8[{k},{n}]:strides(1,{k})",
    "a-transposed": "bf16[{m},{n}]:partition(auto) bf16[{m},{k}]:strides(1,{m}) bf16[{k},{n}]",
    "b-transposed": "bf16[{m},{n}]:partition(auto) bf16[{m},{k}] bf16[{k},{n}]:strides(1,{k})",
    "both-transposed": "bf16[{m},{n}]:partition(auto) bf16[{m},{k}]:strides(1,{m}) "
    "bf16[{k},{n}]:strides(1,{k})",
}
SHAPES = [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 4096, 4112)]
BF16_SHAPES = [
    (2048, 2048, 2048), (16384, 4096, 1024), (4096, 4096, 512), (512, 8192, 8192), (64, 8192, 8192),
    (16, 8192, 8192), (512, 512, 8192), (4096, 4096, 4104), (3000, 3000, 3000),
]  # fmt: skip
LINEAR = "bf16[{m},{n}]:partition(auto) bf16[{m},{k}] bf16[{k},{n}]"


def demanding(kernel):
    return tl.kernel(require=("wgmma", "tma"), max_spills=0)(kernel.function)


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [(name, shape) for name in HOPPER_PRODUCTS for shape in SHAPES]
    + [("bf16", shape) for shape in BF16_SHAPES],
)
def test_product_on_hopper_keeps_its_contract(arguments, shape):
    from tilec.kernels.matmul import matmul_kernel

    m, n, k = shape
    text = HOPPER_PRODUCTS[arguments].format(m=m, n=n, k=k)
    assert compiled(demanding(matmul_kernel), text, "sm_90a").features >= {"wgmma", "tma"}


@pytest.mark.parametrize("activation", [None, "gelu", "relu", "silu"])
@pytest.mark.parametrize("more", ["None None", "bf16[{n}] None", "bf16[{n}] bf16[{m},{n}]"])
def test_linear_on_hopper_keeps_its_contract(activation, more):
    from tilec.kernels.linear import ACTIVATIONS, linear_kernel

    positional, _ = parse_arguments(f"{LINEAR} {more}".format(m=4096, n=4096, k=4096))
    function = ACTIVATIONS[activation] if activation else None
    demanding(linear_kernel).compile(*positional, activation=function, target="sm_90a", phases=())


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_stack_of_products_on_hopper_keeps_its_contract(dtype):
    from tilec.kernels.matmul import batched_matmul_kernel

    array = f"{dtype}[64,1024,1024]"
    compiled(demanding(batched_matmul_kernel), f"{array}:partition(auto) {array} {array}", "sm_90a")
