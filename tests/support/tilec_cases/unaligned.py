"""Rows that start anywhere between two boundaries, and arrays that end anywhere."""

import ml_dtypes
import numpy as np
import pytest
from shifted import shifted

import tilec as tl
from tilec.kernels import matmul
from tilec_cases.checks import assert_exact

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(t) for t in (np.int8, np.float16, np.int16, np.float32, np.float64)] + [BF16]


@tl.kernel
def widened(y, x):
    y.store(x.load_like(y, pad=3).to(y.dtype))


@tl.kernel
def row_largest(y, x, *, tn: tl.Constant[int]):
    (i,) = y.index
    largest = tl.full((y.tile_shape[0],), -100.0, tl.float32)
    for j in range(x.num_tiles(1, tn)):
        tile = x.load((i, j), (y.tile_shape[0], tn), pad=-100)
        largest = tl.maximum(largest, tl.max(tile.to(tl.float32), axis=1))
    y.store(largest)


@tl.kernel
def doubled(y):
    y.store(y.load() + y.load())


def places(dtype):
    return range(0, 16, dtype.itemsize)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("columns", "gap"), [(256, 1), (241, 0), (130, 7)])
def test_rows_at_every_place_are_loaded_exactly(place, rng, dtype, columns, gap):
    for behind in places(dtype):
        x = shifted(rng.integers(-50, 50, (20, columns)).astype(dtype), behind, gap)
        y = place.output((20, 256), np.float64)
        widened(tl.partition(y.array, (8, 128)), place.array(x))
        expected = np.full((20, 256), 3.0)
        expected[:, :columns] = x
        # The output's columns behind the array's read as padding.
        assert_exact(y.read(), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("columns", [1, 127, 1185])
def test_reductions_of_rows_at_every_place_see_no_neighbour(place, rng, dtype, columns):
    for behind in places(dtype):
        x = shifted(rng.integers(-50, -1, (33, columns)).astype(dtype), behind)
        y = place.output(33, np.float32)
        row_largest(tl.partition(y.array, (16,)), place.array(x), tn=128)
        assert_exact(y.read(), x.astype(np.float32).max(axis=1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("length", [1, 15, 1023, 4099])
def test_odd_lengths_are_doubled_in_place(place, rng, dtype, length):
    values = rng.integers(-50, 50, length).astype(dtype)
    y = place.output(length, dtype)
    widened(tl.partition(y.array, (1024,)), place.array(values))
    doubled(tl.partition(y.array, (1024,)))
    assert_exact(y.read(), values + values)


@pytest.mark.parametrize("dtype", [np.dtype(np.int8), np.dtype(np.float16), BF16], ids=str)
@pytest.mark.parametrize(("m", "n", "k"), [(97, 131, 65), (128, 128, 127), (1, 257, 33)])
def test_products_of_operands_at_every_place(place, rng, dtype, m, n, k):
    out = np.dtype(np.int32 if dtype == np.int8 else np.float32)
    for behind in places(dtype):
        a = shifted(rng.integers(-4, 5, (m, k)).astype(dtype), behind)
        b = shifted(rng.integers(-4, 5, (k, n)).astype(dtype), 16 - dtype.itemsize - behind)
        c = place.output((m, n), out)
        matmul(c.array, place.array(a), place.array(b))
        assert_exact(c.read(), (a.astype(np.float32) @ b.astype(np.float32)).astype(out))


def test_an_array_that_ends_with_its_memory_is_read_to_the_end(place, rng):
    size, boundary = 20 << 20, 64  # whole pages, which is what is allocated
    buffer = np.zeros(size + boundary, np.int8)
    first = -buffer.ctypes.data % boundary
    memory = buffer[first : first + size]
    memory[:] = rng.integers(-50, 50, size)
    # A copy on the device starts as far behind a boundary and has nothing else before it.
    for columns in (c for c in range(4095, 3500, -1) if size % c < boundary):
        rows = size // columns
        x = memory[size - rows * columns :].reshape(rows, columns)
        y = place.output(rows, np.float32)
        row_largest(tl.partition(y.array, (16,)), place.array(x), tn=1024)
        assert_exact(y.read(), x.astype(np.float32).max(axis=1))
