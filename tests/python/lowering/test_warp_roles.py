"""Products divided among warps, under interleavings drawn at random."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from warp_roles import assert_sound, compile_kernel

import tilec as tl

BF16 = ml_dtypes.bfloat16
CTAS = 2


@tl.kernel
def matmul(c, a, b, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


def arrays(*shapes, dtype=BF16):
    return [np.zeros(shape, dtype) for shape in shapes]


def compile_matmul(tm, tn, tk=64, *, transposed="", inner=256):
    c, a, b = arrays((256, 512), (256, inner), (inner, 512))
    a = np.asfortranarray(a) if "a" in transposed else a
    b = np.asfortranarray(b) if "b" in transposed else b
    return compile_kernel(matmul, tl.partition(c, (tm, tn)), a, b, tk=tk)


def shapes_of(tm, tn, tk, *, tiles, turns):
    """Arrays of which each of the CTAs gets `tiles` tiles, with loops of `turns` turns."""
    m, n, k = tm * CTAS, tn * tiles, tk * turns
    return {"c": (m, n), "a": (m, k), "b": (k, n)}


@pytest.mark.parametrize(
    ("tm", "tn", "tk"),
    [
        (128, 128, 64),  # programs take turns
        (64, 256, 64),  # they do, with one block of rows
        (128, 128, 128),  # in few stages
        (128, 256, 64),  # two warpgroups share a tile
        (256, 128, 64),
    ],
)
@pytest.mark.parametrize("turns", range(1, 8))
def test_matmul_is_sound(tm, tn, tk, turns):
    compiled = compile_matmul(tm, tn, tk)
    for tiles in range(1, 6):
        assert_sound(compiled, shapes_of(tm, tn, tk, tiles=tiles, turns=turns), CTAS, seeds=5)


@pytest.mark.parametrize("transposed", ["a", "b", "ab"])
@pytest.mark.parametrize("tile", [(128, 128), (128, 256)])
def test_matmul_of_transposed_operands_is_sound(tile, transposed):
    compiled = compile_matmul(*tile, transposed=transposed)
    for tiles, turns in itertools.product((1, 3), (1, 5)):
        assert_sound(compiled, shapes_of(*tile, 64, tiles=tiles, turns=turns), CTAS, seeds=6)


@pytest.mark.parametrize("ctas", [1, 2, 3, 7])
def test_tiles_are_stored_once_whatever_the_grid(ctas):
    compiled = compile_matmul(128, 128)
    shapes = {"c": (128 * 17 - 5, 128 * 3 - 40), "a": (128 * 17 - 5, 100), "b": (100, 128 * 3 - 40)}
    assert_sound(compiled, shapes, ctas, seeds=3)


@pytest.mark.parametrize("tile", [(128, 128), (128, 256), (64, 256)])
@pytest.mark.parametrize("turns", [1, 2, 6])
def test_clusters_that_fetch_for_each_other_are_sound(tile, turns):
    compiled = compile_matmul(*tile, inner=264)  # rows that straddle cache lines
    assert "cluster 2" in compiled.tilegpu and "multicast" in compiled.tilegpu
    for rows, tiles in itertools.product((1, 2, 3), (1, 2, 3)):
        shapes = shapes_of(*tile, 64, tiles=tiles, turns=turns)
        shapes |= {"c": (rows * tile[0], tiles * tile[1]), "a": (rows * tile[0], turns * 64)}
        assert_sound(compiled, shapes, CTAS, seeds=4)
