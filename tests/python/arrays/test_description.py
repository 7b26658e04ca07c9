"""Arrays without memory, and host memory as NumPy arrays."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest

from tilec.arrays import ArraySpec
from tilec.arrays.host import as_numpy
from tilec.diagnostics import LaunchError
from tilec.lang.dtypes import bfloat16


def test_description_is_contiguous_by_default():
    spec = ArraySpec([4, 6, 8], np.float32)
    assert (spec.shape, spec.strides, spec.align_bytes) == ((4, 6, 8), (48, 8, 1), 128)
    assert spec == ArraySpec((4, 6, 8), "float32", strides=(48, 8, 1))
    assert ArraySpec((), bfloat16).memory_layout == ("bf16", (), (), 128)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": (-1, 2)}, "shape must not be negative, found (-1, 2)"),
        ({"strides": (1,)}, "shape has 2 dimensions, strides have 1"),
        (
            {"align_bytes": 2},
            "align_bytes must be one of [4, 8, 16, 32, 64, 128], found 2",
        ),
        (
            {"align_bytes": 256},
            "align_bytes must be one of [4, 8, 16, 32, 64, 128], found 256",
        ),
    ],
)
def test_impossible_description_is_refused(arguments, message):
    with pytest.raises(LaunchError) as error:
        ArraySpec(**{"shape": (2, 2), "dtype": "float32", **arguments})
    assert error.value.message == message


def test_numpy_array_is_returned_as_it_is():
    array = np.zeros(4)
    assert as_numpy(array, 0, (), (), "f64", False) is array


@pytest.mark.parametrize(
    ("dtype", "short"),
    [(np.float32, "f32"), (np.bool_, "bool"), (ml_dtypes.bfloat16, "bf16"), (np.int64, "i64")],
)
def test_host_memory_is_shown_without_a_copy(dtype, short):
    memory = np.arange(24).reshape(4, 6).astype(dtype)
    part = memory[::-1, ::2]
    strides = tuple(step // memory.itemsize for step in part.strides)
    owner = object()
    shown = as_numpy(owner, part.ctypes.data, part.shape, strides, short, False)
    assert shown.dtype == dtype
    assert (shown == part).all()
    shown[0, 0] = 1
    assert memory[3, 0] == 1


def test_read_only_memory_stays_read_only():
    memory = np.zeros(4, np.float32)
    shown = as_numpy(object(), memory.ctypes.data, (4,), (1,), "f32", True)
    with pytest.raises(ValueError, match="read-only"):
        shown[0] = 1


def test_owner_lives_as_long_as_what_is_shown():
    class Owner:
        gone = False

        def __del__(self) -> None:
            Owner.gone = True

    memory = np.zeros(4, np.float32)
    shown = as_numpy(Owner(), memory.ctypes.data, (4,), (1,), "f32", False)
    gc.collect()
    assert not Owner.gone
    del shown
    gc.collect()
    assert Owner.gone
