"""partition(), accumulate() and unchecked()."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from tilec._runtime import Partition, accumulate, partition, unchecked
from tilec.diagnostics import LaunchError


def test_partition_keeps_array_and_tile_shape():
    array = np.zeros((4, 8))
    made = partition(array, (2, np.int64(4)))
    assert made.array is array
    assert made.tile_shape == (2, 4)
    assert made.access == "exclusive"
    assert repr(made) == "Partition(<numpy.ndarray>, (2, np.int64(4)))"


def test_partition_takes_keywords_lists_and_a_bare_integer():
    array = np.zeros(8)
    assert partition(array=array, tile_shape=[4]).tile_shape == (4,)
    assert partition(array, 4).tile_shape == (4,)
    assert partition(array, tile_shape=()).tile_shape == ()


def test_other_markers_have_no_tile_shape():
    array = np.zeros(8)
    for mark, access in ((accumulate, "atomic"), (unchecked, "unchecked")):
        made = mark(array)
        assert (made.array is array, made.tile_shape, made.access) == (True, None, access)
        assert repr(made) == f"{type(made).__name__}(<numpy.ndarray>)"


@pytest.mark.parametrize(
    ("tile_shape", "message"),
    [
        ((2, 0), "tile_shape[1] must be between 1 and 2**30, found 0"),
        ((-1,), "tile_shape[0] must be between 1 and 2**30, found -1"),
        ((2**30 + 1,), "tile_shape[0] must be between 1 and 2**30, found 1073741825"),
        ((2**70,), "tile_shape[0] must be between 1 and 2**30, found 1180591620717411303424"),
        ((2.0,), "tile_shape[0] must be an integer, found 2.0"),
        (("2",), "tile_shape[0] must be an integer, found '2'"),
        (None, "tile_shape must be a tuple of integers, found None"),
        (2.5, "tile_shape must be a tuple of integers, found 2.5"),
        ((1,) * 9, "tile_shape has 9 dimensions, expected at most 8"),
    ],
)
def test_bad_tile_shape_is_refused(tile_shape, message):
    with pytest.raises(LaunchError) as error:
        partition(np.zeros(4), tile_shape)
    assert error.value.message == message


def test_marker_of_a_marker_is_refused():
    with pytest.raises(LaunchError) as error:
        accumulate(partition(np.zeros(4), 2))
    assert error.value.message == (
        "tilec._runtime.Accumulate expects an array, found Partition(<numpy.ndarray>, (2,))"
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: partition(), r"partition\(\) misses its argument 'array'"),
        (lambda: partition(1), r"partition\(\) misses its argument 'tile_shape'"),
        (lambda: partition(1, 2, 3), r"partition\(\) takes 2 arguments, found 3"),
        (lambda: partition(1, shape=2), r"partition\(\) has no argument 'shape'"),
        (lambda: partition(1, 2, array=1), r"partition\(\) got argument 'array' twice"),
        (lambda: Partition(), "cannot create 'tilec._runtime.Partition' instances"),
    ],
)
def test_wrong_call_is_a_type_error(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_marker_in_a_cycle_is_collected():
    class Holder:
        pass

    holder = Holder()
    holder.marker = unchecked(holder)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None
