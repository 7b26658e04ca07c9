"""Loads, stores, gathers and views against NumPy on the CPU executor."""

import math

import numpy as np
import pytest
from carets import marked

import tilec as tl


def padded(x, starts, shape, pad):
    """The tile of ``x`` at element offsets ``starts``."""
    result = np.full(shape, pad, x.dtype)
    for place in np.ndindex(*shape):
        at = tuple(s + p for s, p in zip(starts, place, strict=True))
        if all(0 <= a < n for a, n in zip(at, x.shape, strict=True)):
            result[place] = x[at]
    return result


@pytest.mark.parametrize("index", [(0, 0), (1, 1), (2, 3), (-1, 0), (5, 5)])
@pytest.mark.parametrize("pad", [0, -0.0, 7, math.nan, False])
def test_load_any_index_reads_padding_outside(tools, index, pad):
    def kernel(y, x, i, j):
        y.store(x.load((i, j), (3, 4), pad=pad))

    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    y = np.zeros((3, 4), np.float32)
    tools.run(kernel, tools.part(y, (3, 4)), x, *index)
    expected = padded(x, (index[0] * 3, index[1] * 4), (3, 4), pad)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(expected))


def test_load_step_overlapping_windows(tools):
    def kernel(y, x):
        (i,) = y.index
        y.store(tl.sum(x.load((i,), (3,), step=(1,))))

    x = np.arange(10, dtype=np.float32)
    y = np.zeros(8, np.float32)
    tools.run(kernel, tools.part(y, (1,)), x)
    np.testing.assert_array_equal(y, np.convolve(x, np.ones(3), "valid"))


def test_pad_run_time_scalar(tools):
    def kernel(y, x, p):
        y.store(x.load((0,), (4,), pad=p))

    y = np.zeros(4, np.float32)
    tools.run(kernel, tools.part(y, (4,)), np.ones(2, np.float32), 2.5)
    assert y.tolist() == [1, 1, 2.5, 2.5]


def test_permuted_views_as_numpy(tools):
    def kernel(y, x):
        i, j, k = y.index
        y.store(x.permute(2, 0, 1).load((i, j, k), y.tile_shape))

    x = np.arange(60).reshape(3, 4, 5)
    y = np.zeros((5, 3, 4), np.int64)
    tools.run(kernel, tools.part(y, (2, 2, 3)), x)
    np.testing.assert_array_equal(y, x.transpose(2, 0, 1))


def test_transposed_view_and_tile_agree(tools):
    def kernel(y, z, x):
        i, j = y.index
        y.store(x.T.load((i, j), y.tile_shape))
        z.store(x.load((j, i), (2, 3)).T)

    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    y, z = np.zeros((5, 4), np.float32), np.zeros((5, 4), np.float32)
    tools.run(kernel, tools.part(y, (3, 2)), tools.part(z, (3, 2)), x)
    np.testing.assert_array_equal(y, x.T)
    np.testing.assert_array_equal(z, x.T)


def test_gather_out_of_range_and_mask_fill(tools):
    def kernel(y, x):
        i = tl.arange(8) - 2
        y.store(x.gather(i, mask=i != 1, fill=-5))

    x = np.arange(10, 14, dtype=np.int32)
    y = np.zeros(8, np.int32)
    tools.run(kernel, tools.part(y, (8,)), x)
    assert y.tolist() == [-5, -5, 10, -5, 12, 13, -5, -5]


def test_gather_two_dimensions_broadcast_indices(tools):
    def kernel(y, x):
        y.store(x.gather((tl.arange(3)[:, None], tl.arange(4)[None, :] * 2)))

    x = np.arange(40, dtype=np.float32).reshape(5, 8)
    y = np.zeros((3, 4), np.float32)
    tools.run(kernel, tools.part(y, (3, 4)), x)
    np.testing.assert_array_equal(y, x[:3, ::2])


def test_gather_scalar_index(tools):
    def kernel(y, a, s0, s1):
        acc = 0
        s = s0
        for i in range(0, 8, 2):
            acc += a.gather(i * s)
            s = s1
        y.store(acc)

    a = np.arange(64, dtype=np.int32)
    for s0, s1 in ((1, 1), (1, 3), (16, 1), (0, 1)):
        y = np.zeros(1, np.int32)
        tools.run(kernel, tools.part(y, (1,)), a, s0, s1)
        assert y[0] == a[0] + sum(a[i * s1] for i in (2, 4, 6))


def test_partition_load_in_place(tools):
    def kernel(y):
        y.store(y.load() * 2 + 1)

    y = np.arange(7, dtype=np.float32)
    tools.run(kernel, tools.part(y, (4,)))
    assert y.tolist() == [1, 3, 5, 7, 9, 11, 13]


def test_store_widens_and_broadcasts_scalars(tools):
    def kernel(a, b, c, d, x):
        a.store(x.load_like(a))
        b.store(tl.sum(x.load_like(b)))
        c.store(b.index[0] + 1)
        d.store(x.load_like(d) > 1)

    x = np.array([1, 2, 3], np.int8)
    outputs = [np.zeros(3, t) for t in (np.int64, np.int32, np.float32, np.bool_)]
    tools.run(kernel, *[tools.part(y, (3,)) for y in outputs], x)
    assert [y.tolist() for y in outputs] == [
        [1, 2, 3],
        [6, 6, 6],
        [1.0, 1.0, 1.0],
        [False, True, True],
    ]


def test_bool_array_round_trip(tools):
    def kernel(y, x):
        y.store(~x.load_like(y, pad=True))

    x = np.array([True, False, True])
    y = np.zeros(3, np.bool_)
    tools.run(kernel, tools.part(y, (2,)), x)
    assert y.tolist() == [False, True, False]


def test_shape_and_num_tiles_are_run_time_values(tools):
    def kernel(y, x):
        m, n = x.shape
        y.store(m * 1000 + n * 100 + x.num_tiles(1, 4) * 10 + len(x.shape))

    y = np.zeros(1, np.int64)
    tools.run(kernel, tools.part(y, (1,)), np.zeros((3, 9), np.float32))
    assert y[0] == 3932


def test_extent_converted_to_its_own_dtype_is_int64(tools):
    def kernel(y, x):
        n = x.shape[0]
        y.store(n.to(n.dtype) + tl.zeros((1,), n.dtype))

    y = np.zeros(1, np.int64)
    tools.run(kernel, tools.part(y, (1,)), np.zeros(9, np.float32))
    assert y[0] == 9


def test_nested_tuple_arguments(tools):
    def kernel(y, pair):
        (a, scale), b = pair
        y.store(a.load_like(y) * scale + b.load_like(y))

    a, b, y = np.arange(4.0), np.ones(4), np.zeros(4)
    tools.run(kernel, tools.part(y, (4,)), ((a, 3), b))
    assert y.tolist() == [1, 4, 7, 10]


@pytest.mark.parametrize(
    ("statement", "message", "hint"),
    [
        (
            lambda y, x, t, n: y.store(tl.zeros((4,))),
            "store: expected a tile of shape (8,) for y, found (4,)",
            "tl.broadcast_to or .reshape makes the shapes equal",
        ),
        (
            lambda y, x, t, n: y.store(t.to(tl.float64)),
            "store: y holds float32, found a tile of float64 (8,)",
            "convert it: x.to(y.dtype)",
        ),
        (
            lambda y, x, t, n: x.load((0, 0), (8,)),
            "load: index has 2 entries, x has rank 1",
            None,
        ),
        (
            lambda y, x, t, n: x.load((0,), (8, 8)),
            "load: tile shape has 2 entries, x has rank 1",
            None,
        ),
        (
            lambda y, x, t, n: x.load((0,), (n,)),
            "load: a tile's shape must be known at compile time, found a run-time int",
            "make it a tl.Constant parameter",
        ),
        (
            lambda y, x, t, n: x.load((0,), (0,)),
            "load: extents must be at least 1, found (0,)",
            None,
        ),
        (
            lambda y, x, t, n: x.load((1.5,), (8,)),
            "load: index: expected an integer, found 1.5",
            None,
        ),
        (
            lambda y, x, t, n: x.load((t,), (8,)),
            "load: index: expected an integer, found a tile of float32 (8,)",
            None,
        ),
        (
            lambda y, x, t, n: x.load((0,), (8,), pad="zero"),
            "load: pad: expected a tile, a scalar or a number, found a str",
            None,
        ),
        (
            lambda y, x, t, n: x.store((0,), t),
            "x is read-only",
            "pass it as tl.partition(x, tile_shape) and call .store(tile)",
        ),
        (
            lambda y, x, t, n: x.load_like(x),
            "load_like: expected a partition, found a TensorView",
            "name the place instead: x.load(index, tile_shape)",
        ),
        (
            lambda y, x, t, n: x.gather(t),
            "gather: indices must be integers, found float32",
            None,
        ),
        (
            lambda y, x, t, n: x.shape[5],
            "shape index 5 is out of range: the array has rank 1",
            None,
        ),
        (
            lambda y, x, t, n: x[0],
            "x is an array and is read in tiles",
            "x.load(index, tile_shape), or x.gather(indices)",
        ),
        (
            lambda y, x, t, n: x.T.permute(1),
            "permute: axis 1 is out of range for rank 1",
            None,
        ),
        (
            lambda y, x, t, n: x.num_tiles(3, 8),
            "num_tiles: axis 3 is out of range for rank 1",
            None,
        ),
        (
            lambda y, x, t, n: len(x),
            "the length of x is a run-time value",
            "use x.shape[0]",
        ),
    ],
)
def test_access_that_does_not_fit_refused(tools, statement, message, hint):
    def kernel(y, x, n):
        statement(y, x, x.load_like(y), n)

    specs = tools.view(tl.float32, 1, (8,)), tools.view(tl.float32, 1), tools.scalar(tl.int32)
    error = tools.error(kernel, *specs)
    assert (error.message, error.hint) == (message, hint)


def test_partition_index_unpacked_wrongly_refused(tools):
    def kernel(y, x):
        m, n = y.index
        y.store(m + n)

    assert tools.refused(kernel)[:3] == (
        "ValueError: not enough values to unpack (expected 2, got 1)",
        "m, n = y.index",
        marked("m, n"),
    )
