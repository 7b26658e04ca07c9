"""Products divided among warps, under interleavings drawn at random."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from tilec_cases.exchanged_products import by_rows_in_tf32
from warp_roles import assert_sound, compile_kernel, planned

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
        (192, 192, 64),  # three do
        (192, 256, 64),
    ],
)
@pytest.mark.parametrize("turns", range(1, 8))
def test_matmul_is_sound(tm, tn, tk, turns):
    compiled = compile_matmul(tm, tn, tk)
    for tiles in range(1, 6):
        assert_sound(compiled, shapes_of(tm, tn, tk, tiles=tiles, turns=turns), CTAS, seeds=5)


@pytest.mark.parametrize("transposed", ["a", "b", "ab"])
@pytest.mark.parametrize("tile", [(128, 128), (128, 256), (192, 192)])
def test_matmul_of_transposed_operands_is_sound(tile, transposed):
    compiled = compile_matmul(*tile, transposed=transposed)
    for tiles, turns in itertools.product((1, 3), (1, 5)):
        assert_sound(compiled, shapes_of(*tile, 64, tiles=tiles, turns=turns), CTAS, seeds=6)


@pytest.mark.parametrize("tile", [(16, 64), (32, 128), (8, 256)])
def test_products_of_few_rows_are_sound(tile):
    compiled = compile_matmul(*tile)
    assert "transposed" in compiled.tilegpu
    for tiles, turns in itertools.product((1, 3), (1, 2, 5)):
        assert_sound(compiled, shapes_of(*tile, 64, tiles=tiles, turns=turns), CTAS, seeds=4)


@pytest.mark.parametrize("schedule", ["cooperative", "pingpong", "single"])
@pytest.mark.parametrize("tile", [(64, 128), (256, 128)])
def test_left_operands_that_go_through_registers_are_sound(tile, schedule):
    c, a, b = arrays((512, 512), (512, 256), (256, 512), dtype=np.float32)
    compiled = compile_kernel(by_rows_in_tf32, tl.partition(c, tile), a, b)
    compiled = planned(compiled, {"schedule": schedule, "cluster": [1, 1], "raster": 4})
    assert "tilegpu.local_load" in compiled.tilegpu
    for tiles, turns in itertools.product((1, 3), (1, 2, 5)):
        assert_sound(compiled, shapes_of(*tile, 32, tiles=tiles, turns=turns), CTAS, seeds=4)


@pytest.mark.parametrize(
    ("kernel", "tile", "dtype"),
    [
        (by_rows_in_tf32, (128, 192), np.float32),
        (matmul, (24, 192), BF16),
        (matmul, (64, 384), BF16),
    ],
)
def test_three_warpgroups_and_operands_that_go_other_ways_are_sound(kernel, tile, dtype):
    """Through registers, or exchanged."""
    c, a, b = arrays((512, 768), (512, 256), (256, 768), dtype=dtype)
    hinted = tl.kernel(num_warps=12)(kernel.function)
    compiled = compile_kernel(hinted, tl.partition(c, tile), a, b)
    assert "tilegpu.local_load" in compiled.tilegpu or "transposed" in compiled.tilegpu
    assert "readers 3" in compiled.tilegpu
    for tiles, turns in itertools.product((1, 3), (1, 2, 5)):
        depth = 64 if dtype == BF16 else 32
        assert_sound(compiled, shapes_of(*tile, depth, tiles=tiles, turns=turns), CTAS, seeds=4)


@pytest.mark.parametrize("ctas", [1, 2, 3, 7])
def test_tiles_are_stored_once_whatever_the_grid(ctas):
    compiled = compile_matmul(128, 128)
    shapes = {"c": (128 * 17 - 5, 128 * 3 - 40), "a": (128 * 17 - 5, 100), "b": (100, 128 * 3 - 40)}
    assert_sound(compiled, shapes, ctas, seeds=3)


@pytest.mark.parametrize("tile", [(128, 128), (128, 256), (64, 256), (192, 192)])
@pytest.mark.parametrize("turns", [1, 2, 6])
def test_clusters_that_fetch_for_each_other_are_sound(tile, turns):
    compiled = compile_matmul(*tile, inner=264)  # rows that straddle cache lines
    assert "cluster 2" in compiled.tilegpu and "multicast" in compiled.tilegpu
    for rows, tiles in itertools.product((1, 2, 3), (1, 2, 3)):
        shapes = shapes_of(*tile, 64, tiles=tiles, turns=turns)
        shapes |= {"c": (rows * tile[0], tiles * tile[1]), "a": (rows * tile[0], turns * 64)}
        assert_sound(compiled, shapes, CTAS, seeds=4)


@tl.kernel
def lower_triangle(c, a, b, *, tk: tl.Constant[int] = 64):
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range((i + 1) * tm // tk):
        acc = tl.mma(a.load((i, k), (tm, tk)), b.load((k, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


def test_ctas_whose_loops_differ_fetch_for_themselves():
    c, a, b = arrays((256, 512), (256, 264), (264, 512))
    compiled = compile_kernel(lower_triangle, tl.partition(c, (128, 128)), a, b)
    assert "cluster" not in compiled.tilegpu.partition("tile.kernel")[2]
    shapes = {"c": (512, 256), "a": (512, 512), "b": (512, 256)}
    assert_sound(compiled, shapes, CTAS, seeds=10)


def test_the_only_stage_is_free_before_the_next_turn():
    compiled = compile_matmul(128, 256, 256)
    assert ": <1>" in compiled.tilegpu
    shapes = shapes_of(128, 256, 256, tiles=3, turns=3)
    assert_sound(compiled, shapes, CTAS, seeds=10)


@pytest.mark.parametrize("schedule", ["cooperative", "pingpong", "single"])
@pytest.mark.parametrize("cluster", [1, 2])
def test_planned_schedules_are_sound(schedule, cluster):
    plan = {"schedule": schedule, "cluster": [cluster, 1], "raster": 4}
    compiled = planned(compile_matmul(128, 128), plan)
    for rows, turns in itertools.product((1, 3), (1, 4)):
        shapes = shapes_of(128, 128, 64, tiles=3, turns=turns)
        shapes |= {"c": (128 * rows, 384), "a": (128 * rows, 64 * turns)}
        assert_sound(compiled, shapes, CTAS, seeds=6)


@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("tile", [(192, 128), (384, 64)])
def test_three_warpgroups_that_share_a_tile_are_sound(tile, cluster):
    """Where one or two could hold it: by the plan."""
    tm, tn = tile
    plan = {"schedule": "cooperative", "num_warps": 12, "cluster": [cluster, 1], "raster": 4}
    compiled = planned(compile_matmul(*tile), plan)
    assert "readers 3" in compiled.tilegpu and "tilegpu.num_warps = 12" in compiled.tilegpu
    for rows, turns in itertools.product((1, 3), (1, 4, 9)):
        shapes = shapes_of(tm, tn, 64, tiles=3, turns=turns)
        shapes |= {"c": (tm * rows, tn * 3), "a": (tm * rows, 64 * turns)}
        assert_sound(compiled, shapes, CTAS, seeds=6)


@pytest.mark.parametrize("tile", [(128, 128), (64, 128), (64, 64), (192, 192)])
@pytest.mark.parametrize("parts", [2, 3, 4, 6])
def test_ctas_that_share_the_depth_of_a_product_are_sound(tile, parts):
    compiled = planned(compile_matmul(*tile), {"split_k": parts})
    assert "tilegpu.cluster_sum" in compiled.tilegpu
    for turns in (1, 3, 8, 17):  # some have parts without turns
        shapes = shapes_of(*tile, 64, tiles=2, turns=turns)
        assert_sound(compiled, shapes, CTAS * 2 * parts, seeds=3)


@pytest.mark.parametrize("tile", [(128, 128), (64, 128)])
@pytest.mark.parametrize("parts", [2, 3, 8, 16])
def test_ctas_that_share_it_through_a_workspace_are_sound(tile, parts):
    compiled = planned(compile_matmul(*tile), {"split_k": parts, "split_by": "workspace"})
    assert "tilegpu.workspace_sum" in compiled.tilegpu
    for turns in (1, 3, 17):  # some have parts without turns
        shapes = shapes_of(*tile, 64, tiles=2, turns=turns)
        assert_sound(compiled, shapes, CTAS * 2 * parts, seeds=3)


@tl.kernel
def batched(c, a, b, *, tk: tl.Constant[int] = 64):
    h, i, j = c.index
    _, tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(2, tk)):
        x = a.load((h, i, k), (1, tm, tk)).reshape((tm, tk))
        y = b.load((h, k, j), (1, tk, tn)).reshape((tk, tn))
        acc = tl.mma(x, y, acc)
    c.store(acc.to(c.dtype).reshape((1, tm, tn)))


@pytest.mark.parametrize("tile", [(128, 128), (128, 256)])
def test_batches_are_sound(tile):
    c, a, b = arrays((3, 256, 512), (3, 256, 256), (3, 256, 512))
    compiled = compile_kernel(batched, tl.partition(c, (1, *tile)), a, b)
    assert "tilegpu.tma_load" in compiled.tilegpu and "tilegpu.tma_store" in compiled.tilegpu
    for turns in (1, 4):
        m, n, k = tile[0] * 2, tile[1], turns * 64
        assert_sound(compiled, {"c": (3, m, n), "a": (3, m, k), "b": (3, k, n)}, 4, seeds=6)
