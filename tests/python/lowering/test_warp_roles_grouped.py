"""Grouped products divided among warps, under interleavings drawn at random."""

import ml_dtypes
import numpy as np
import pytest
from warp_roles import assert_sound, compile_kernel, faults, planned
from warp_roles.runs import Compiled

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


def compile_grouped(tm, tn):
    c, a, b = (np.zeros(shape, BF16) for shape in ((256, 512), (256, 256), (256, 512)))
    problem = (tl.partition(c, (tm, tn)), a, b)
    return compile_kernel(matmul.grouped, [problem, problem])


def problem_of(tm, tn, rows, columns, turns):
    m, n, k = tm * rows, tn * columns, 64 * turns
    return {"c": (m, n), "a": (m, k), "b": (k, n)}


def ragged(tm, tn):
    """Problems of few and many tiles, with loops of few and many turns."""
    shapes = [(1, 1, 7), (2, 3, 1), (1, 2, 4), (3, 1, 2), (1, 1, 1), (1, 1, 9), (2, 2, 3)]
    return [problem_of(tm, tn, *shape) for shape in shapes]


@pytest.mark.parametrize(
    "tile",
    [
        (128, 128),  # programs take turns
        (64, 256),
        (128, 256),  # two warpgroups share a tile
        (256, 128),
        (192, 192),  # three do
    ],
)
def test_ragged_problems_are_sound(tile):
    compiled = compile_grouped(*tile)
    assert "tilegpu.find_problem" in compiled.tilegpu and "tma_store" in compiled.tilegpu
    for ctas in (1, 2, 3, 5):
        assert_sound(compiled, ragged(*tile), ctas, seeds=5)


@pytest.mark.parametrize("tile", [(128, 128), (128, 256)])
def test_random_problems_are_sound(tile):
    compiled = compile_grouped(*tile)
    rng = np.random.default_rng()
    for _ in range(12):
        shapes = rng.integers(1, 5, (int(rng.integers(1, 7)), 3)).tolist()
        print("rows, columns, turns:", shapes)
        problems = [problem_of(*tile, *shape) for shape in shapes]
        assert_sound(compiled, problems, int(rng.integers(1, 5)), seeds=3)


@pytest.mark.parametrize("schedule", ["cooperative", "pingpong", "single"])
@pytest.mark.parametrize("cluster", [1, 2])
def test_planned_schedules_are_sound(schedule, cluster):
    plan = {"schedule": schedule, "cluster": [cluster, 1], "raster": 4}
    compiled = planned(compile_grouped(128, 128), plan)
    assert ("cluster 2" in compiled.tilegpu) == (cluster == 2)
    assert_sound(compiled, ragged(128, 128), CTAS, seeds=6)
    assert_sound(compiled, ragged(128, 128), 2 * CTAS, seeds=6)


@tl.kernel
def chained(c, a, b, v, *, tk: tl.Constant[int] = 64):
    """Two channels: one of every turn of both loops, and one of the outer loop's."""
    i, j = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for n in range(v.num_tiles(0, tk)):
        inner = tl.zeros((tm, tk), tl.float32)
        for k in range(a.num_tiles(1, tk)):
            inner = tl.mma(a.load((i, k), (tm, tk)), b.load((k, n), (tk, tk)), inner)
        acc = tl.mma(inner.to(a.dtype), v.load((n, j), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


def test_problems_of_two_loops_are_sound():
    shapes = (256, 256), (256, 128), (128, 192), (192, 256)
    c, a, b, v = (np.zeros(shape, BF16) for shape in shapes)
    problem = (tl.partition(c, (128, 128)), a, b, v)
    compiled = compile_kernel(chained.grouped, [problem, problem])
    assert "tilegpu.turn" in compiled.tilegpu and compiled.tilegpu.count("tilegpu.queue ") == 2
    problems = [
        {"c": (m, n), "a": (m, k), "b": (k, l), "v": (l, n)}
        for m, n, k, l in ((128, 256, 64, 192), (256, 128, 256, 64), (100, 100, 100, 300))  # noqa: E741
    ]
    for ctas in (1, 2, 3):
        assert_sound(compiled, problems, ctas, seeds=4)


def test_problems_with_tails_are_sound():
    compiled = compile_grouped(128, 128)
    shapes = [(5, 7, 3), (300, 129, 70), (128, 128, 64), (1, 1, 500)]
    problems = [{"c": (m, n), "a": (m, k), "b": (k, n)} for m, n, k in shapes]
    assert_sound(compiled, problems, CTAS, seeds=10)


def test_no_plan_splits_the_depth_of_grouped_products():
    compiled = planned(compile_grouped(128, 128), {"split_k": 2})
    assert "cluster_sum" not in compiled.tilegpu
    assert_sound(compiled, ragged(128, 128), CTAS, seeds=3)


def test_stages_of_another_problem_are_found_when_they_are_miscounted():
    """The count must be that of the next tile's problem, not of the own one."""
    compiled = compile_grouped(128, 128)
    text = compiled.tilegpu
    next_tile = text.rpartition("tilegpu.find_problem ")[2].partition("\n")[0]
    own_tile = text.partition("} consumer {")[2].partition("scf.for %")[2].partition(" ")[0]
    assert next_tile != f"%{own_tile}"
    broken = f"tilegpu.find_problem %{own_tile}\n".join(
        text.rsplit(f"tilegpu.find_problem {next_tile}\n", 1)
    )
    mutated = Compiled(compiled.tile, broken)
    assert faults(mutated, ragged(128, 128), 1, seeds=5).total() == 5
