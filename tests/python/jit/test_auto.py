"""Kernels with tl.AUTO from decoration to launch, on the CPU executor."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import tilec as tl
from tilec.compiler.target import TARGETS
from tilec.jit import kernel as kernel_module
from tilec.jit import planning
from tilec.jit.cache import DiskCache
from tilec.jit.job import CompileJob
from tilec.jit.planning import seed_tile
from tilec.kernels.matmul import matmul_kernel

SCALE = 2.0


@tl.kernel
def scaled(y, x):
    y.store(x.load_like(y) * SCALE)


@tl.kernel
def softmax(y, x):
    row = x.load_like(y)
    e = tl.exp(row - tl.max(row, axis=-1, keepdims=True))
    y.store(e / tl.sum(e, axis=-1, keepdims=True))


@tl.kernel
def row_sums(y, x, *, tn: tl.Constant[int] = 32):
    (i,) = y.index
    (tm,) = y.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(x.num_tiles(1, tn)):
        acc = acc + x.load((i, k), (tm, tn))
    y.store(tl.sum(acc, axis=1))


@tl.kernel
def batched(c, a, b, *, tk: tl.Constant[int] = 32):
    g, m, n = c.index
    _, tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(2, tk)):
        left = a.load((g, m, k), (1, tm, tk)).reshape(tm, tk)
        acc = tl.mma(left, b.load((g, k, n), (1, tk, tn)).reshape(tk, tn), acc)
    c.store(acc.reshape(1, tm, tn))


def random(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(planning, "disk_cache", lambda: DiskCache(None, 0))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (300, 1000), (1, 5000)])
def test_elementwise_kernel_covers_its_array(rng, shape):
    x, y = random(rng, *shape), np.full(shape, np.nan, np.float32)
    scaled(tl.partition(y, tl.AUTO), x)
    assert (y == 2 * x).all()


@pytest.mark.parametrize("shape", [(), (77,), (2, 3, 40), (2, 2, 2, 2)])
def test_elementwise_kernel_of_any_rank_covers_its_array(rng, shape):
    x, y = random(rng, *shape).reshape(shape), np.full(shape, np.nan, np.float32)
    scaled(tl.partition(y, tl.AUTO), x)
    assert (y == 2 * x).all()


@pytest.mark.parametrize("shape", [(3, 1), (40, 77), (2, 5000)])
def test_kernel_that_reduces_its_tile_gets_whole_rows(rng, shape):
    x, y = random(rng, *shape), np.zeros(shape, np.float32)
    softmax(tl.partition(y, tl.AUTO), x)
    e = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(-1, keepdims=True), rtol=1e-5)


def test_kernel_that_loops_along_rows_divides_the_other_dimension(rng):
    x, y = random(rng, 333, 100), np.zeros(333, np.float32)
    row_sums(tl.partition(y, tl.AUTO), x)
    np.testing.assert_allclose(y, x.sum(1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (100, 70, 33), (8, 300, 200), (64, 64, 0)])
def test_product_is_numpys(rng, m, n, k):
    a, b, c = random(rng, m, k), random(rng, k, n), np.full((m, n), np.nan, np.float32)
    matmul_kernel(tl.partition(c, tl.AUTO), a, b)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_batched_product_takes_one_of_the_batch(rng):
    a, b, c = random(rng, 3, 40, 50), random(rng, 3, 50, 60), np.zeros((3, 40, 60), np.float32)
    batched(tl.partition(c, tl.AUTO), a, b)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_results_are_those_of_the_same_tile_by_hand(rng):
    a, b = random(rng, 200, 150), random(rng, 150, 180)
    automatic, by_hand = np.zeros((2, 200, 180), np.float32)
    partition = tl.partition(automatic, tl.AUTO)
    request = matmul_kernel.request(partition, a, b, target="sm_90a")
    matmul_kernel(partition, a, b)
    matmul_kernel(tl.partition(by_hand, request.signature.specs[0].tile_shape), a, b)
    assert (automatic == by_hand).all()


def test_second_launch_of_a_shape_neither_plans_nor_traces(rng, monkeypatch):
    x, y = random(rng, 30, 40), np.zeros((30, 40), np.float32)
    scaled(tl.partition(y, tl.AUTO), x)
    monkeypatch.setattr(kernel_module, "CompileJob", None)
    monkeypatch.setattr(planning._runtime, "tile_plan", None)
    scaled(tl.partition(y, tl.AUTO), x + 1)
    assert (y == 2 * (x + 1)).all()


def test_shapes_of_one_specialization_are_summarized_once(rng, monkeypatch):
    kernel = tl.kernel(scaled.function)
    for rows in (1, 3, 5):
        x, y = random(rng, rows, 41), np.zeros((rows, 41), np.float32)
        kernel(tl.partition(y, tl.AUTO), x)
        assert (y == 2 * x).all()
        monkeypatch.setattr(planning, "CompileJob", None)


def test_global_that_changes_is_seen(rng, monkeypatch):
    x, y = random(rng, 30, 40), np.zeros((30, 40), np.float32)
    for scale in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        scaled(tl.partition(y, tl.AUTO), x)
        assert (y == np.float32(scale) * x).all()


def test_tile_shape_is_the_chosen_one_when_the_kernel_is_traced(rng):
    seen = []

    def body(y):
        seen.append(y.tile_shape)
        y.store(tl.full(y.tile_shape, 1.0, y.dtype))

    y = np.zeros((4, 4096), np.float32)
    tl.kernel(body)(tl.partition(y, tl.AUTO))
    assert seen == [seed_tile(2), (1, 1024)]
    assert (y == 1).all()


def test_error_of_the_first_trace_explains_auto():
    def body(y):
        tl.static_assert(y.tile_shape == (64, 64), "only 64 x 64")

    with pytest.raises(tl.TraceError) as refusal:
        tl.kernel(body)(tl.partition(np.zeros((64, 64), np.float32), tl.AUTO))
    assert refusal.value.message == "static_assert failed: only 64 x 64"
    assert refusal.value.hint == (
        "tl.AUTO tries the kernel with tiles of (96, 160) first: it must be right for any tile"
    )


def test_compile_and_request_plan_for_descriptions(monkeypatch):
    def array(*shape):
        return tl.ArraySpec(shape, tl.bfloat16)

    arguments = tl.partition(array(4096, 4096), tl.AUTO), array(4096, 4096), array(4096, 4096)
    request = matmul_kernel.request(*arguments, target="sm_80")
    assert request.signature.specs[0].tile_shape == (128, 128)
    assert request.plan is None  # the passes decide the rest, as for a tile of the author's
    compiled = matmul_kernel.compile(*arguments, target="sm_80")
    assert compiled.plan["grid"]["tile"] == [128, 128]
    monkeypatch.setattr(planning, "CARRIED_OUT", frozenset({"wgmma", "cluster", "split_k"}))
    request = matmul_kernel.request(*arguments, target="sm_90a")
    assert json.loads(request.plan)["schedule"] == "pingpong"


def test_explain_shows_candidates_and_why_they_were_rejected():
    def array(*shape):
        return tl.ArraySpec(shape, tl.float32)

    arguments = tl.partition(array(512, 512), tl.AUTO), array(512, 512), array(512, 512)
    plan = matmul_kernel.explain(*arguments, target="sm_80")
    assert plan["chosen"] in plan["candidates"]
    assert {c["rejected"] for c in plan["candidates"] if c["schedule"] == "single"} == {"no wgmma"}
    by_hand = tl.partition(array(512, 512), (64, 64)), *arguments[1:]
    assert matmul_kernel.explain(*by_hand, target="sm_80") is None


def test_every_candidate_for_wgmma_compiles_as_planned_without_spills():
    array = tl.ArraySpec((8192, 8192), tl.bfloat16)
    plan = matmul_kernel.explain(tl.partition(array, tl.AUTO), array, array, target="sm_90a")
    possible = [c for c in plan["candidates"] if not c["rejected"] and c["schedule"] != "sync"]
    problems = {}
    for candidate in possible:
        given = tl.partition(array, candidate["tile"]), array, array
        decisions = {**plan["decisions"], "schedule": candidate["schedule"]}
        request = replace(
            matmul_kernel.request(*given, target="sm_90a"),
            plan=json.dumps({**decisions, "num_warps": candidate["num_warps"]}),
        )
        job = CompileJob(request)
        compiled = job.build(job.trace())
        found = compiled.resources.spill_bytes, compiled.resources.notes
        if found != (0, ()) or "wgmma.mma_async" not in compiled.ptx:
            problems[candidate["schedule"], candidate["tile"]] = found
    assert len(possible) >= 10
    assert problems == {}


def test_three_warpgroups_are_planned_for_where_the_target_has_wgmma():
    features = {name: planning.device_of(target)["features"] for name, target in TARGETS.items()}
    having = {name for name, found in features.items() if "three_consumers" in found}
    assert having == {name for name, target in TARGETS.items() if target.has("wgmma")} != set()
