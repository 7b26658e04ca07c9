"""Shapes and bounds: cases that broke other tile compilers."""

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tilec as tl
from tilec_cases.checks import assert_exact


@tl.kernel
def copy(y, x):
    y.store(x.load_like(y))


@tl.kernel
def add_one(y, x):
    y.store(x.load_like(y) + 1)


# -- zero strides (cupy #3095, #913) ---------------------------------------------------------------


def nonsense_stride():
    """An axis of length 1, whose stride nobody may use."""
    return as_strided(np.arange(6.0), (1, 6), (1 << 40, 8))


@pytest.mark.parametrize(
    ("x", "tile"),
    [
        (np.broadcast_to(np.ones(1), (1000,)), (128,)),
        (np.broadcast_to(np.arange(4.0), (33, 4)), (8, 16)),
        (np.broadcast_to(np.arange(33.0)[:, None], (33, 70)), (8, 16)),
        (nonsense_stride(), (8, 16)),
    ],
)
def test_broadcast_input_reads_its_values(place, x, tile):
    if place.name != "cpu" and x.strides[0] == 1 << 40:
        pytest.skip("the test's copy to the device follows the strides")
    y = place.output(x.shape, x.dtype)
    copy(tl.partition(y.array, tile), place.array(x))
    assert_exact(y.read(), x)


def test_zero_stride_output_is_refused(place):
    base = np.zeros(1)
    y = place.array(as_strided(base, (8,), (0,)))
    with pytest.raises(tl.LaunchError, match="y"):
        copy(tl.partition(y, (4,)), place.array(np.ones(8)))
    assert base[0] == 0


# -- zero sizes (numba #4140, #8477, cuda-python #1396) --------------------------------------------


@tl.kernel
def row_sums(y, x, *, tn: tl.Constant[int]):
    (i,) = y.index
    acc = tl.zeros((1,), tl.float32)
    for j in range(x.num_tiles(1, tn)):
        acc += tl.sum(x.load((i, j), (1, tn)), axis=1)
    y.store(acc)


@pytest.mark.parametrize("first", ["empty", "full"])
@pytest.mark.parametrize("shape", [(0,), (0, 128), (128, 0)])
def test_empty_arrays_launch_nothing(place, first, shape):
    tile = (16,) * len(shape)
    full = np.ones((32,) * len(shape), np.float32)
    for step in (first, "empty", "full"):
        x = np.zeros(shape, np.float32) if step == "empty" else full
        y = place.output(x.shape, x.dtype)
        copy(tl.partition(y.array, tile), place.array(x))
        assert_exact(y.read(), x)


def test_sum_over_an_empty_axis_is_zero(place):
    y = place.output(5, np.float32)
    x = np.zeros((5, 0), np.float32)
    row_sums(tl.partition(y.array, (1,)), place.array(x), tn=16)
    assert_exact(y.read(), np.zeros(5, np.float32))


# -- shifted and odd pitches (triton #1330, #1297) -------------------------------------------------

OFFSETS = [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
@pytest.mark.parametrize("order", [OFFSETS, OFFSETS[::-1]])
def test_shifted_views_do_not_inherit_alignment(place, dtype, order):
    buffer = np.arange(4200).astype(dtype) % 100
    for offset in order:
        x = buffer[offset : offset + 4096]
        y = place.output(4096, dtype)
        add_one(tl.partition(y.array, (1024,)), place.array(x))
        assert_exact(y.read(), (x + 1).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("pitch", [1185, 1953, 7920])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("gap", [0, 3, 16])
def test_odd_row_pitches_read_and_write_every_element(place, rng, dtype, pitch, first, gap):
    x = rng.integers(0, 100, (20, pitch)).astype(dtype)[:, first:]
    y = place.output(x.shape, dtype, gap_elems=gap)
    add_one(tl.partition(y.array, (8, 128)), place.array(x))
    assert_exact(y.read(), (x + 1).astype(dtype))


def test_column_major_input_reads_its_elements(place, rng):
    x = np.asfortranarray(rng.standard_normal((100, 200)))
    y = place.output(x.shape, x.dtype)
    add_one(tl.partition(y.array, (8, 128)), place.array(x))
    assert_exact(y.read(), x + 1)


# -- many tiles along an axis (jax #38497, #31395) -------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("tiles", range(1, 9))
def test_middle_tiles_along_an_axis_are_written(place, rng, rows, tiles):
    x = rng.standard_normal((rows, 128 * tiles)).astype(np.float32)
    y = place.output(x.shape, x.dtype)
    add_one(tl.partition(y.array, (rows, 128)), place.array(x))
    assert_exact(y.read(), x + 1)


@pytest.mark.parametrize("rows", [16, 24, 32])
def test_middle_tiles_down_an_axis_are_written(place, rng, rows):
    x = rng.standard_normal((rows, 16)).astype(np.float32)
    y = place.output(x.shape, x.dtype)
    add_one(tl.partition(y.array, (8, 16)), place.array(x))
    assert_exact(y.read(), x + 1)


# -- an explicit pad of zero is a pad (triton #3281) -----------------------------------------------


@tl.kernel
def padded_sum(y, x, *, pad: tl.Constant):
    y.store(tl.sum(x.load((0,), (256,), pad=pad), axis=0, keepdims=True))


@tl.kernel
def filled_sum(y, x, *, fill: tl.Constant):
    y.store(tl.sum(x.gather((tl.arange(256),), fill=fill), axis=0, keepdims=True))


@pytest.mark.parametrize("pad", [0, 0.0, -0.0, False, 1e-7, 2.0, float("nan")])
@pytest.mark.parametrize("how", ["load", "gather"])
def test_pad_is_what_outside_reads(place, pad, how):
    x = np.arange(16, dtype=np.float32)
    y = place.output(1, np.float32)
    part = tl.partition(y.array, (1,))
    if how == "load":
        padded_sum(part, place.array(x), pad=pad)
    else:
        filled_sum(part, place.array(x), fill=pad)
    np.testing.assert_allclose(y.read(), [x.sum() + 240 * pad], rtol=1e-6)


# -- reads out of range in any direction are the pad -----------------------------------------------


@tl.kernel
def shifted(y, x, offset):
    i, j = y.index
    y.store(x.load((i + offset, j - offset), (4, 8), pad=-7.0))


@pytest.mark.parametrize("offset", [-3, -1, 0, 1, 3, 1000])
def test_load_out_of_range_in_any_direction_reads_the_pad(place, rng, offset):
    x = rng.standard_normal((10, 21)).astype(np.float32)
    y = place.output(x.shape, x.dtype)
    shifted(tl.partition(y.array, (4, 8)), place.array(x), offset)
    rows, columns = np.indices(x.shape)
    rows, columns = rows + 4 * offset, columns - 8 * offset
    inside = (rows >= 0) & (rows < 10) & (columns >= 0) & (columns < 21)
    expected = np.where(inside, x[rows.clip(0, 9), columns.clip(0, 20)], np.float32(-7))
    assert_exact(y.read(), expected)
