"""Where the tensor cores and the copy engine expect elements, against what layouts say."""

import re

import ml_dtypes
import numpy as np
import pytest
from layout_spread import LANES, Spread, assert_covers_once
from layouts import smem, spread, tile

from .test_warp_roles import compile_matmul

NUMPY = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8}


def ptx_accumulator(warp, lane, register):
    """PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", the accumulator."""
    row = 16 * (warp % 4) + lane // 4 + 8 * (register // 2 % 2)
    return row, 8 * (register // 4) + lane % 4 * 2 + register % 2


@pytest.mark.parametrize(
    ("tile_shape", "warps"),
    [
        ((64, 64), 4),
        ((64, 256), 4),
        ((128, 128), 4),
        ((128, 256), 8),
        ((256, 128), 8),
        ((192, 192), 12),
        ((192, 256), 12),
    ],
)
def test_accumulator_is_the_fragment_of_the_instruction(tile_shape, warps):
    text = compile_matmul(*tile_shape).tilegpu
    m, n = tile_shape
    name = re.search(rf"tilegpu\.mma wgmma .*tensor<{m}x{n}xf32, (#layout\d*)>", text)[1]
    layout = re.search(rf"{name} = (#tilegpu\.layout<.*>)", text)[1]
    assert_covers_once(layout, tile_shape)
    coords = Spread.of(layout).coords
    blocks = m // (16 * warps)  # of 64 rows for each warpgroup, one after another
    registers = coords.shape[2] // blocks
    expected = [
        [
            [
                np.add(
                    ptx_accumulator(warp, lane, register),
                    (64 * (warp // 4) + 16 * warps * block, 0),
                )
                for block in range(blocks)
                for register in range(registers)
            ]
            for lane in range(LANES)
        ]
        for warp in range(warps)
    ]
    assert coords.shape == (warps, LANES, m * n // (32 * warps), 2)
    np.testing.assert_array_equal(coords, expected)


def hardware_address(address, swizzle):
    """CUDA driver API, CUtensorMapSwizzle: bits 4 and up take those of the 128-byte lines."""
    return address ^ ((address >> 7) & ((1 << swizzle) - 1)) << 4


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
@pytest.mark.parametrize("swizzle", [1, 2, 3])
@pytest.mark.parametrize("element", NUMPY)
def test_swizzled_panels_lie_as_the_copy_engine_writes_them(run_kernel, element, swizzle, order):
    shape = (64, 64) if element != "i8" else (128, 128)
    item = np.dtype(NUMPY[element]).itemsize
    source = tile(shape, element, spread(shape, "1", "11100", "00"))
    buffer = smem(shape, element, order, swizzle)
    x = np.arange(np.prod(shape)).reshape(shape)
    x = (x % 251 - 125).astype(NUMPY[element])
    machine = run_kernel(
        f"""
        %t = tile.load %a0[%c0, %c0] : !v0 -> {source}
        %s = tilegpu.local_alloc %t {{tilegpu.shared_offset = 0 : i64}} : {source} -> {buffer}
        %u = tilegpu.local_load %s : {buffer} -> {source}
        """,
        [x, np.zeros_like(x)],
        [element, element],
        warps=4,
    )
    inner, outer = (x, shape[0]) if order == (1, 0) else (x.T, shape[1])
    width = 16 << swizzle
    rows, columns = np.indices(inner.shape)
    panels, bytes_in_row = np.divmod(columns * item, width)
    addresses = hardware_address((panels * outer + rows) * width + bytes_in_row, swizzle)
    memory = machine.shared.data
    found = memory[addresses[..., None] + np.arange(item)].reshape(-1).view(NUMPY[element])
    np.testing.assert_array_equal(found.reshape(inner.shape), inner)
