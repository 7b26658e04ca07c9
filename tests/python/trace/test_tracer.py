"""Whole kernels: which ops they become. Their results are tested on the CPU executor."""

import re
from concurrent.futures import ThreadPoolExecutor

from carets import marked_column

import tilec as tl


def softmax(y, x):
    row = x.load_like(y).to(tl.float32)
    e = tl.exp(row - tl.max(row, axis=-1, keepdims=True))
    y.store((e / tl.sum(e, axis=-1, keepdims=True)).to(y.dtype))


def matmul(c, a, b, *, tk: tl.Constant[int] = 64):
    m, n = c.index
    tm, tn = c.tile_shape
    acc = tl.zeros((tm, tn), tl.float32)
    for k in range(a.num_tiles(1, tk)):
        acc = tl.mma(a.load((m, k), (tm, tk)), b.load((k, n), (tk, tn)), acc)
    c.store(acc.to(c.dtype))


def test_softmax_one_call_one_op(tools):
    partition, view = tools.view(tl.bfloat16, 2, (1, 64)), tools.view(tl.bfloat16, 2)
    assert tools.ops(softmax, partition, view) == [
        "tile.index",
        "tile.load",
        "arith.extf",
        "tile.reduce",
        "arith.maximumf",
        "tile.yield",
        "tile.broadcast",
        "arith.subf",
        "math.exp",
        "tile.reduce",
        "arith.addf",
        "tile.yield",
        "tile.broadcast",
        "arith.divf",
        "arith.truncf",
        "tile.store",
        "tile.return",
    ]


def test_matmul_device_loop_carries_accumulator_only(tools):
    partition, view = tools.view(tl.float16, 2, (64, 32)), tools.view(tl.float16, 2)
    text = tools.text(matmul, partition, view, view, tools.constant(16))
    assert re.search(r"iter_args\(%\w+ = %\w+\) -> \(tensor<64x32xf32>\)", text)
    assert text.count("tile.mma") == 1


def test_trace_every_op_located_in_the_authors_file(tools):
    partition, view = tools.view(tl.float16, 2, (64, 32)), tools.view(tl.float16, 2)
    places = tools.locations(matmul, partition, view, view, tools.constant(16))
    first = matmul.__code__.co_firstlineno
    here = f'loc("matmul"("{__file__}":'
    assert all(place.startswith(here) for _, place in places)
    assert ("tile.mma", f"{here}{first + 5}:{marked_column(15, 9)}))") in places
    assert ("tile.num_tiles", f"{here}{first + 4}:{marked_column(20, 14)}))") in places
    assert ("scf.for", f"{here}{first + 4}:14))") in places


def _helper(x):
    return tl.exp(x) + 1


def _caller(y, x):
    y.store(_helper(x.load_like(y)))


def test_trace_op_in_helper_located_with_call_chain(tools):
    float_view = tools.view(tl.float32, 1)
    places = dict(tools.locations(_caller, tools.view(tl.float32, 1, (8,)), float_view))
    callee = f"{_helper.__code__.co_firstlineno + 1}:{marked_column(12, 5)}"
    caller = f"{_caller.__code__.co_firstlineno + 1}:{marked_column(13, 5)}"
    assert places["math.exp"] == (
        f'loc(callsite("_helper"("{__file__}":{callee}) at "_caller"("{__file__}":{caller})))'
    )


def test_trace_in_threads_gives_the_same_bytecode(tools):
    partition, view = tools.view(tl.float16, 2, (64, 32)), tools.view(tl.float16, 2)
    expected = tools.bytecode(matmul, partition, view, view, tools.constant(16))

    def work(_):
        return [tools.bytecode(matmul, partition, view, view, tools.constant(16)) for _ in range(5)]

    with ThreadPoolExecutor(8) as pool:
        found = [code for codes in pool.map(work, range(8)) for code in codes]
    assert found == [expected] * 40
