"""Kernels that print and assert go down to machine code, for every target and assembler."""

import re

import pytest

import tilec as tl
from tilec.compiler.assemble import Unavailable, assemble, find_ptxas
from tilec.compiler.target import TARGETS
from tilec.lang.dtypes import BY_SHORT

DTYPES = ["f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i8", "u16", "i32", "u64", "bool"]


@tl.kernel
def debugged(y, x, n, flag):
    tile = x.load_like(y)
    tl.print("{} at {}", tile, y.index[0])
    tl.assert_(tile == tile, "no NaN")
    for k in range(n):
        tl.print("k", k, flag, 2.5)
    tl.assert_(n < 3, "n is small")
    y.store(tile)


@tl.kernel
def debugged_bits(y, x):
    tl.print("{}", x.load_like(y))
    y.store(x.load_like(y))


def arrays(dtype):
    array = tl.ArraySpec((4096,), BY_SHORT[dtype])
    return tl.partition(array, (256,)), array


@pytest.mark.parametrize("target", TARGETS)
def test_debugged_kernel_links(target):
    compiled = debugged.compile(*arrays("f32"), 3, True, target=target)
    assert compiled.cubin.startswith(b"\x7fELF")
    assert compiled.assembler.startswith("nvJitLink ")
    assert compiled.resources.spill_bytes == 0
    assert len(re.findall(r"^\s*call\S* .*\bvprintf", compiled.ptx, re.MULTILINE)) >= 2


@pytest.mark.parametrize("target", TARGETS)
def test_debugged_kernel_assembles_with_ptxas(target):
    try:
        find_ptxas()
    except Unavailable as reason:
        pytest.skip(str(reason))
    compiled = debugged.compile(*arrays("f32"), 3, True, target=target)
    made = assemble(compiled.ptx, TARGETS[target], "debugged", "ptxas")
    assert made.cubin.startswith(b"\x7fELF")
    for name in (b"vprintf", b"__assertfail"):
        assert name in made.cubin  # left to the driver


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_prints_by_vprintf_alone(dtype, target):
    ptx = debugged_bits.compile(*arrays(dtype), target=target).ptx
    assert re.findall(r"^\.extern \.func .*?(\w+)$", ptx, re.MULTILINE) == ["vprintf"]


def test_buffer_of_arguments_is_one_whatever_a_loop_prints():
    compiled = debugged.compile(*arrays("f32"), 3, True, target="sm_90a")
    assert compiled.resources.stack_bytes < 256


@tl.kernel
def debugged_matmul(c, a, b):
    m, n = c.index
    acc = tl.zeros(c.tile_shape, tl.float32)
    for k in range(a.num_tiles(1, 64)):
        tl.print("turn", k)
        acc = tl.mma(a.load((m, k), (128, 64)), b.load((k, n), (64, 128)), acc)
        tl.assert_(acc == acc, "no NaN")
    c.store(acc.to(c.dtype))


def test_warps_that_only_fetch_neither_print_nor_assert():
    matrix = tl.ArraySpec((4096, 4096), tl.bfloat16)
    compiled = debugged_matmul.compile(
        tl.partition(matrix, (128, 128)), matrix, matrix, target="sm_90a"
    )
    assert compiled.cubin.startswith(b"\x7fELF")
    producer, consumer = compiled.phases["tilegpu"].split("} consumer {")
    for op in ("tilegpu.print", "tile.assert"):
        assert (producer.count(op), consumer.count(op)) == (0, 1)
