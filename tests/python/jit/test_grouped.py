"""Kernels for lists of problems: planning, compiling, the cache, and what the CPU does."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec.diagnostics import LaunchError, TraceError
from tilec.kernels.matmul import matmul_kernel
from tilec.kernels.softmax import softmax_kernel

BF16 = np.dtype(ml_dtypes.bfloat16)


@tl.kernel
def scale(y, x, factor):
    y.store(x.load_like(y) * factor)


def product(m, n, k, tile=tl.AUTO, dtype=BF16):
    c, a, b = (np.zeros(shape, dtype) for shape in ((m, n), (m, k), (k, n)))
    return tl.partition(c, tile), a, b


def described(m, n, k, tile=tl.AUTO):
    c, a, b = (tl.ArraySpec(shape, "bfloat16") for shape in ((m, n), (m, k), (k, n)))
    return tl.partition(c, tile), a, b


def test_problems_run_on_the_cpu_with_arguments_of_their_own():
    rng = np.random.default_rng()
    problems, expected = [], []
    for m, n in ((3, 5), (0, 4), (17, 2)):
        x, factor = rng.standard_normal((m, n)), float(rng.standard_normal())
        problems.append((tl.partition(np.empty((m, n)), (4, 4)), x, factor))
        expected.append(x * np.float32(factor))
    scale.grouped(problems)
    for (part, *_), values in zip(problems, expected, strict=True):
        np.testing.assert_allclose(part.array, values, rtol=1e-6)


def test_keyword_arguments_hold_for_all_problems():
    outputs = [np.zeros(3), np.zeros(5)]
    scale.grouped([(tl.partition(y, (2,)), np.ones_like(y)) for y in outputs], factor=3.0)
    assert [y.tolist() for y in outputs] == [[3.0] * 3, [3.0] * 5]


def test_lists_and_generators_of_problems():
    y = np.zeros(3)
    scale.grouped(([tl.partition(y, (2,)), np.ones(3), 2.0],))
    assert y.tolist() == [2.0] * 3
    with pytest.raises(LaunchError, match="have type generator, expected a list of tuples"):
        scale.grouped(problem for problem in ())


def test_refused_problems_leave_all_outputs_alone():
    y, z = np.zeros(3), np.zeros(3)
    problems = [(tl.partition(y, (2,)), np.ones(3), 1.0), (tl.partition(z, (2,)), np.ones(3))]
    with pytest.raises(LaunchError) as raised:
        scale.grouped(problems)
    assert raised.value.message == "problem 1: scale misses its argument 'factor'"
    assert not y.any()


def test_one_tile_is_planned_from_all_problems():
    """One small product would get small tiles, for the sake of many programs."""
    alone = matmul_kernel.request(*described(256, 512, 1024), target="sm_90a")
    problems = [described(256, 512, 1024)] * 100
    grouped = matmul_kernel.grouped.request(problems, target="sm_90a")
    tiles = [request.signature.specs[0].tile_shape for request in (alone, grouped)]
    assert np.prod(tiles[0]) < np.prod(tiles[1])
    assert grouped.signature.grouped and not alone.signature.grouped


def test_grouped_plans_do_not_split_the_depth():
    alone = matmul_kernel.request(*described(128, 128, 16384), target="sm_90a")
    assert json.loads(alone.plan)["split_k"] > 1
    grouped = matmul_kernel.grouped.request([described(128, 128, 16384)], target="sm_90a")
    assert json.loads(grouped.plan)["split_k"] == 1


def test_rows_of_different_lengths_have_no_tile_that_is_whole():
    def problem(m, n):
        y, x = np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)
        return tl.partition(y, tl.AUTO), x

    softmax_kernel.grouped([problem(3, 100), problem(50, 100)])
    with pytest.raises(LaunchError) as raised:
        softmax_kernel.grouped([problem(3, 100), problem(50, 101)])
    assert raised.value.message == (
        "with tl.AUTO, softmax_kernel does not divide dimension 1 of its partition, along which "
        "the problems differ"
    )
    assert raised.value.hint == (
        "give the tile shape, if the kernel is right for rows shorter than it"
    )


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_compiles_for_every_target_without_a_gpu(target):
    compiled = matmul_kernel.grouped.compile(
        [described(m, 512, 256) for m in (1, 300, 77)], target=target, phases=("tilegpu",)
    )
    assert compiled.plan["group"]["row_bytes"] % 8 == 0
    assert "tilegpu.find_problem" in compiled.phases["tilegpu"]
    maps = [p for p in compiled.plan["params"] if p["kind"] == "tensor_map"]
    assert bool(maps) == (target == "sm_90a")
    assert all(p["offset"] % 128 == 0 for p in maps)
    assert compiled.resources.spill_store_bytes in (0, None)


@pytest.mark.parametrize("tile", [(128, 128), (128, 256), (64, 256)])
def test_products_of_a_group_keep_wgmma_and_tma(tile):
    kernel = tl.kernel(require=("wgmma", "tma"), max_spills=0)(matmul_kernel.function)
    compiled = kernel.grouped.compile([described(m, 512, 256, tile) for m in (1, 300)],
                                      target="sm_90a", phases=())  # fmt: skip
    assert compiled.plan["grid"]["persistent"]
    assert "fence.proxy.tensormap::generic.acquire.sys" in compiled.ptx
    assert not compiled.resources.notes


def test_one_array_that_tma_cannot_take_sends_all_problems_by_threads():
    problems = [described(64, 64, 64, (64, 64)), described(64, 64, 65, (64, 64))]
    compiled = matmul_kernel.grouped.compile(problems, target="sm_90a", phases=())
    assert not [p for p in compiled.plan["params"] if p["kind"] == "tensor_map"]


def test_other_lists_share_the_compiled_kernel(tmp_path):
    """The request, and with it the key of the cache, has facts and no shapes."""
    requests = {
        matmul_kernel.grouped.request([described(m, 512, 256) for m in rows], target="sm_90a")
        for rows in ((1, 300, 77), (33, 51, 295), (1, 301, 77))
    }
    assert len(requests) == 1


def test_compile_without_a_target_or_problems():
    with pytest.raises(LaunchError) as raised:
        matmul_kernel.grouped.compile([product(8, 8, 8)])
    assert raised.value.message == (
        "matmul_kernel cannot be compiled: the arguments are not on a GPU and there is no target"
    )
    with pytest.raises(LaunchError) as raised:
        matmul_kernel.grouped.compile([], target="sm_90a")
    assert raised.value.message == "matmul_kernel.grouped has no problems to be compiled for"


def test_errors_of_the_kernel_say_where():
    @tl.kernel
    def wrong(y, x):
        y.store(x.load_like(y) + "one")

    with pytest.raises(TraceError) as raised:
        wrong.grouped([(tl.partition(np.zeros(3), (2,)), np.zeros(3))])
    assert raised.value.frames[0].function == "wrong"


def test_traces_for_one_problem_and_for_many_are_alike():
    """A kernel is traced alike for one problem and for many; only its mark differs."""
    from tilec.compiler.phases import module_text
    from tilec.jit.job import CompileJob

    alone = matmul_kernel.request(*described(64, 64, 64, (64, 64)), target="sm_90a")
    many = matmul_kernel.grouped.request([described(64, 64, 64, (64, 64))], target="sm_90a")
    texts = [module_text(CompileJob(request).trace().bytecode) for request in (alone, many)]
    assert texts[1].replace(", tile.grouped", "") == texts[0] != texts[1]
