"""Loads and stores of rows that are not aligned, or that end inside a vector, run thread by thread.

The machine's arrays have poison around them, and it refuses reads without a byte of an array.
"""

import ml_dtypes
import numpy as np
import pytest
from shifted import shifted
from views import partition, view

COLUMNS, ROWS = 64, 8
ELEMENTS = {
    "i8": np.dtype(np.int8),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}


def random(shape, dtype):
    return np.random.default_rng(5).integers(-4, 5, shape).astype(dtype)


def load(x, y, element, access="read", pad=""):
    """A program that copies to `y` a tile of its shape of `x`, which may end inside it."""
    tile = f"tensor<{'x'.join(map(str, y.shape))}x{element}>"
    zeros = ", ".join(["%c0"] * y.ndim)
    vx, py = view(x, element, access), partition(y, element, y.shape)
    return f"""
        tile.kernel @k(%y: {py}, %x: {vx}) {{
          %c0 = arith.constant 0 : index
          {f"%pad = arith.constant {pad} : {element}" if pad else ""}
          %t = tile.load %x[{zeros}]{f" pad %pad : {element}" if pad else ""} : {vx} -> {tile}
          tile.store %t, %y : {tile}, {py}
          tile.return
        }}"""


def padded(x, shape, pad):
    y = np.full(shape, pad, x.dtype)
    y[tuple(slice(size) for size in x.shape)] = x
    return y


def places(dtype):
    return range(0, 16, dtype.itemsize)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("columns", "gap"), [(64, 1), (61, 0), (33, 6), (1, 2)])
def test_rows_at_every_place_are_loaded_exactly(compile_and_run, element, columns, gap):
    dtype = ELEMENTS[element]
    for place in places(dtype):
        x = shifted(random((ROWS, columns), dtype), place, gap)
        y = np.zeros((ROWS, COLUMNS), dtype)
        machine = compile_and_run(load(x, y, element), [y, x])
        np.testing.assert_array_equal(y, padded(x, y.shape, 0), f"{place} bytes behind a boundary")
        if dtype.itemsize == 1:  # two windows where there were as many accesses as elements
            assert machine.counts["ld.global"] <= 2 * y.nbytes / 32 / 8


@pytest.mark.parametrize("element", ["i8", "bf16", "f32", "f64"])
@pytest.mark.parametrize("access", ["read", "unchecked"])
def test_what_lies_outside_reads_as_the_padding(compile_and_run, element, access):
    dtype = ELEMENTS[element]
    pad = "-7" if element == "i8" else "-7.0"
    for place in (0, 8, 16 - dtype.itemsize):
        x = shifted(random((5, 27), dtype), place)
        y = np.zeros((ROWS, COLUMNS), dtype)
        compile_and_run(load(x, y, element, access, pad), [y, x])
        np.testing.assert_array_equal(y, padded(x, y.shape, -7))


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("length", [1, 7, 255, 256])
def test_odd_lengths_are_copied_exactly(compile_and_run, element, length):
    dtype = ELEMENTS[element]
    x = shifted(random((length,), dtype), 0)
    y = shifted(np.zeros((length,), dtype), 0)
    tile = f"tensor<256x{element}>"
    vx, py = view(x, element, "read"), partition(y, element, (256,))
    source = f"""
        tile.kernel @k(%y: {py}, %x: {vx}) {{
          %c0 = arith.constant 0 : index
          %t = tile.load %x[%c0] : {vx} -> {tile}
          tile.store %t, %y : {tile}, {py}
          tile.return
        }}"""
    compile_and_run(source, [y, x], options="target=sm_80 num-warps=1")
    np.testing.assert_array_equal(y, x)
    surroundings = y.base if y.base.dtype == np.uint8 else y.base.base
    assert (surroundings == 0xFF).sum() >= surroundings.nbytes - y.nbytes


@pytest.mark.parametrize("element", ["i8", "bf16", "f32"])
@pytest.mark.parametrize("place", [0, 4, 12])
def test_a_tile_is_read_and_written_in_place(compile_and_run, element, place):
    dtype = ELEMENTS[element]
    y = shifted(random((ROWS, 45), dtype), place)
    expected = y + y
    vy, tile = view(y, element, "unchecked"), f"tensor<{ROWS}x{COLUMNS}x{element}>"
    add = "arith.addi" if element == "i8" else "arith.addf"
    source = f"""
        tile.kernel @k(%y: {vy}) {{
          %c0 = arith.constant 0 : index
          %t = tile.load %y[%c0, %c0] : {vy} -> {tile}
          %u = {add} %t, %t : {tile}
          tile.store %u, %y[%c0, %c0] : {tile}, {vy}
          tile.return
        }}"""
    compile_and_run(source, [y])
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("element", ["i8", "bf16"])
@pytest.mark.parametrize("start", [-1, 0, 1, 2])
def test_tiles_before_and_behind_the_array_read_as_padding(compile_and_run, element, start):
    dtype = ELEMENTS[element]
    x = shifted(random((ROWS, 61), dtype), 2)
    y = np.ones((ROWS, COLUMNS // 2), dtype)
    source = load(x, y, element).replace("[%c0, %c0] :", "[%c0, %s] :")
    source = source.replace("%t =", f"%s = arith.constant {start} : index\n          %t =")
    compile_and_run(source, [y, x])
    expected = np.zeros((ROWS, 4 * 32), dtype)
    expected[:, 32 : 32 + 61] = x
    np.testing.assert_array_equal(y, expected[:, 32 * start + 32 :][:, :32])
