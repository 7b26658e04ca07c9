"""What a plan is told of a kernel: the analysis of `tile` IR, traced at a seed tile."""

from __future__ import annotations

import json

import pytest

import tilec as tl
from tilec.compiler.phases import summarize
from tilec.diagnostics import CompilerFault

SEED = (96, 160)
M, N = {"dim": 0}, {"dim": 1}


@pytest.fixture
def summary(tools):
    """The summary of a function whose first argument is a partition, all others bf16 matrices."""

    def make(function, inputs=2, tile=SEED, rank=2, dtype=tl.bfloat16):
        views = [tools.view(dtype, rank) for _ in range(inputs)]
        output = tools.view(dtype, len(tile), tile)
        return json.loads(summarize(tools.bytecode(function, output, *views)))

    return make


def walk(a, m, acc, b, n, tk=32):
    tm, tn = acc.shape
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((m, k), (tm, tk)), b.load((k, n), (tk, tn)), acc)
    return acc


def product(c, a, b):
    m, n = c.index
    c.store(walk(a, m, tl.zeros(c.tile_shape, tl.float32), b, n).to(c.dtype))


def only_product(summary):
    (found,) = summary["products"]
    return found


def test_product_names_its_arrays_and_what_it_walks_along(summary):
    found = summary(product)
    assert (found["partition"], found["rank"], found["whole"]) == (0, 2, [])
    mma = only_product(found)
    del mma["accumulator"]
    assert mma == {
        "lhs": "bf16",
        "rhs": "bf16",
        "acc": "f32",
        "tf32": False,
        "m": M,
        "n": N,
        "k_step": 32,
        "k": {"arg": 2, "dim": 0},
        "trips": [{"arg": 1, "dim": 1, "by": 32, "from": 0, "step": 1}],
        "a": {"arg": 1, "outer": 0, "k": 1, "computed": False},
        "b": {"arg": 2, "outer": 1, "k": 0, "computed": False},
    }


def test_accesses_say_which_of_the_tiles_dimensions_they_follow(summary):
    loop = [{"arg": 1, "dim": 1, "by": 32, "from": 0, "step": 1}]
    assert summary(product)["accesses"] == [
        {"arg": 1, "dims": [0, None], "store": False, "trips": loop},
        {"arg": 2, "dims": [None, 1], "store": False, "trips": loop},
        {"arg": 0, "dims": [0, 1], "store": True, "trips": []},
    ]


def test_values_have_extents_of_the_tile(summary):
    shapes = [value["shape"] for value in summary(product)["tiles"]]
    assert [M, N] in shapes
    assert [M, 32] in shapes
    assert [32, N] in shapes


def test_transposed_views_and_tiles_are_no_computation(summary):
    def kernel(c, a, b):
        m, n = c.index
        tm, tn = c.tile_shape
        acc = tl.zeros((tm, tn), tl.float32)
        for k in range(a.num_tiles(0, 32)):
            right = b.load((n, k), (tn, 32)).T
            acc = tl.mma(a.T.load((m, k), (tm, 32)), right, acc)
        c.store(acc.to(c.dtype))

    mma = only_product(summary(kernel))
    assert mma["a"] == {"arg": 1, "outer": 1, "k": 0, "computed": False}
    assert mma["b"] == {"arg": 2, "outer": 0, "k": 1, "computed": False}


def test_an_operand_that_is_changed_after_its_load_is_computed(summary):
    def kernel(c, a, b):
        m, n = c.index
        tm, tn = c.tile_shape
        acc = tl.zeros((tm, tn), tl.float32)
        for k in range(a.num_tiles(1, 32)):
            left = (a.load((m, k), (tm, 32)).to(tl.float32) * 2).to(tl.bfloat16)
            acc = tl.mma(left, b.load((k, n), (32, tn)), acc)
        c.store(acc.to(c.dtype))

    mma = only_product(summary(kernel))
    assert mma["a"] == {"arg": 1, "outer": 0, "k": 1, "computed": True}
    assert not mma["b"]["computed"]


def test_two_products_share_an_accumulator_or_do_not(summary):
    def chained(c, a, b, d):
        m, n = c.index
        acc = walk(a, m, tl.zeros(c.tile_shape, tl.float32), b, n)
        c.store(walk(a, m, acc, d, n).to(c.dtype))

    def gated(c, a, b, d):
        m, n = c.index
        tm, tn = c.tile_shape
        acc = gate = tl.zeros((tm, tn), tl.float32)
        for k in range(a.num_tiles(1, 32)):
            left = a.load((m, k), (tm, 32))
            acc = tl.mma(left, b.load((k, n), (32, tn)), acc)
            gate = tl.mma(left, d.load((k, n), (32, tn)), gate)
        c.store((acc * tl.sigmoid(gate)).to(c.dtype))

    def numbers(kernel):
        products = summary(kernel, inputs=3)["products"]
        assert [p["b"]["arg"] for p in products] == [2, 3]
        return {p["accumulator"] for p in products}

    assert len(numbers(chained)) == 1
    assert len(numbers(gated)) == 2


def test_a_product_of_a_product_has_no_array_for_its_operand(summary):
    def kernel(o, q, k, v):
        i, j = o.index
        tm, tn = o.tile_shape
        acc = tl.zeros((tm, tn), tl.float32)
        rows = q.load((i, 0), (tm, 64))
        for step in range(k.num_tiles(0, 32)):
            scores = tl.mma(rows, k.load((step, 0), (32, 64)).T, tl.zeros((tm, 32), tl.float32))
            acc = tl.mma(scores.to(tl.bfloat16), v.load((step, j), (32, tn)), acc)
        o.store(acc.to(o.dtype))

    scores, out = summary(kernel, inputs=3)["products"]
    assert (scores["m"], scores["n"], scores["k_step"]) == (M, 32, 64)
    assert (out["m"], out["n"], out["k_step"]) == (M, N, 32)
    assert (out["a"]["computed"], out["b"]["arg"]) == (True, 3)
    assert out["trips"] == scores["trips"]


@pytest.mark.parametrize(
    ("bounds", "trip"),
    [
        (lambda a: range(1, a.num_tiles(1, 32), 2), {"by": 32, "from": 1, "step": 2}),
        (lambda a: range(0, a.shape[1], 32), {"by": 1, "from": 0, "step": 32}),
        (lambda a: range(17), {"count": 17}),
        (lambda a: range(a.shape[0] * 3), None),
    ],
)
def test_trips_of_a_loop(summary, bounds, trip):
    def kernel(c, a, b):
        m, n = c.index
        tm, tn = c.tile_shape
        acc = tl.zeros((tm, tn), tl.float32)
        for k in bounds(a):
            acc = tl.mma(a.load((m, k), (tm, 32)), b.load((k, n), (32, tn)), acc)
        c.store(acc.to(c.dtype))

    (found,) = only_product(summary(kernel))["trips"]
    if trip and "by" in trip:
        trip = {"arg": 1, "dim": 1, **trip}
    assert found == trip


def test_trips_of_nested_loops_and_of_while(summary):
    def kernel(c, a, b):
        m, n = c.index
        tm, tn = c.tile_shape
        acc = tl.zeros((tm, tn), tl.float32)
        for _ in range(20):
            k = 0
            while k < a.num_tiles(1, 32):
                acc = tl.mma(a.load((m, k), (tm, 32)), b.load((k, n), (32, tn)), acc)
                k += 1
        c.store(acc.to(c.dtype))

    found = summary(kernel)
    assert only_product(found)["trips"] == [{"count": 20}, None]
    assert (only_product(found)["m"], only_product(found)["n"]) == (M, N)


def test_a_transposed_result_swaps_the_dimensions(summary):
    def kernel(c, a, b):
        m, n = c.index
        tm, tn = c.tile_shape
        c.store(walk(a, n, tl.zeros((tn, tm), tl.float32), b, m).T.to(c.dtype))

    mma = only_product(summary(kernel))
    assert (mma["m"], mma["n"]) == (N, M)


def test_branches_tie_what_they_yield(summary):
    def kernel(y, x):
        if x.shape[0] > 5:
            t = x.load((0, 0), y.tile_shape)
        else:
            t = x.load((1, 1), y.tile_shape)
        y.store(t)

    assert [access["dims"] for access in summary(kernel, inputs=1)["accesses"]] == [[0, 1]] * 3


def test_reduced_dimensions_are_whole(summary):
    def rows(y, x):
        t = x.load_like(y).to(tl.float32)
        y.store((t / tl.sum(t, axis=1, keepdims=True)).to(y.dtype))

    def columns(y, x):
        t = x.load_like(y).to(tl.float32)
        y.store((t - tl.max(t, axis=0, keepdims=True)).to(y.dtype))

    def loop(y, x):
        i, _ = y.index
        total = tl.zeros((y.tile_shape[0], 32), tl.float32)
        for k in range(x.num_tiles(1, 32)):
            total = total + x.load((i, k), (y.tile_shape[0], 32))
        y.store(tl.broadcast_to(tl.sum(total, axis=1, keepdims=True), y.tile_shape).to(y.dtype))

    def untied(y, x):  # only its extent says that this is a row of the tile
        t = x.load((0, 0), y.tile_shape).to(tl.float32)
        y.store(tl.broadcast_to(tl.sum(t, axis=1, keepdims=True), y.tile_shape).to(y.dtype))

    found = [summary(kernel, inputs=1)["whole"] for kernel in (rows, columns, loop, untied)]
    assert found == [[1], [0], [], [1]]


def test_a_product_along_the_own_tile_is_whole(summary):
    def kernel(y, x, w):
        t = x.load_like(y)
        acc = tl.zeros((y.tile_shape[0], 32), tl.float32)
        small = tl.mma(t, w.load((0, 0), (y.tile_shape[1], 32)), acc)
        y.store((t.to(tl.float32) + tl.sum(small, axis=1, keepdims=True)).to(y.dtype))

    assert summary(kernel)["whole"] == [1]


def test_reshape_follows_axes_that_keep_their_extent(summary):
    def kernel(c, a, b):
        g, m, n = c.index
        _, tm, tn = c.tile_shape
        acc = tl.zeros((tm, tn), tl.float32)
        for k in range(a.num_tiles(2, 32)):
            left = a.load((g, m, k), (1, tm, 32)).reshape(tm, 32)
            acc = tl.mma(left, b.load((g, k, n), (1, 32, tn)).reshape(32, tn), acc)
        c.store(acc.reshape(1, tm, tn).to(c.dtype))

    mma = only_product(summary(kernel, tile=(1, *SEED), rank=3))
    assert (mma["m"], mma["n"]) == ({"dim": 1}, {"dim": 2})
    assert mma["a"] == {"arg": 1, "outer": 1, "k": 2, "computed": False}


def test_gathered_elements_lie_anywhere(summary):
    def kernel(y, x):
        rows = tl.broadcast_to(tl.arange(0, SEED[0])[:, None], SEED)
        y.store(x.gather((rows, rows)))

    assert summary(kernel, inputs=1)["accesses"][0] == {
        "arg": 1,
        "dims": [None, None],
        "store": False,
        "trips": [],
    }


def test_windows_that_overlap_are_not_the_own_tile(summary):
    def kernel(y, x):
        i, j = y.index
        t = x.load((i, j), SEED, step=(8, 160))
        y.store(tl.sum(t, axis=0, keepdims=True).to(y.dtype))

    found = summary(kernel, inputs=1, tile=(1, 160))
    assert found["accesses"][0]["dims"] == [None, 1]
    assert found["whole"] == []


def test_what_is_no_module_is_refused():
    with pytest.raises(CompilerFault, match="the compiler failed in phase summary"):
        summarize(b"nonsense")
