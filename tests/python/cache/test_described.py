import ml_dtypes
import numpy as np
import pytest

from tilec.jit.described import DescriptionError, parse_arguments
from tilec.lang.dtypes import bfloat16


def test_described_array_has_dtype_shape_and_alignment():
    (x, y), keywords = parse_arguments("bf16[3, 5] f32[]")
    assert (x.shape, x.dtype, x.strides) == ((3, 5), np.dtype(ml_dtypes.bfloat16), (10, 2))
    assert x.ctypes.data % 128 == 0
    assert (y.shape, y.dtype) == ((), np.dtype(np.float32))
    assert keywords == {}


def test_described_strides_count_elements():
    ((x,), _) = parse_arguments("f64[4,8]:strides(1,4)")
    assert x.strides == (8, 32)
    x[...] = 1.0
    assert x.sum() == 32


def test_described_empty_array_has_no_elements():
    ((x,), _) = parse_arguments("f32[0,128]")
    assert x.size == 0


def test_described_markers_wrap_the_array():
    (y, a, u), _ = parse_arguments("f16[8,64]:partition(1,64) i32[8]:accumulate i32[8]:unchecked")
    assert (y.array.shape, tuple(y.tile_shape)) == ((8, 64), (1, 64))
    assert [marker.access for marker in (y, a, u)] == ["exclusive", "atomic", "unchecked"]


def test_described_literals_and_dtypes_are_values():
    positional, keywords = parse_arguments("1 -2.5 True None (1, 2) 'a b' tk=64 acc=bf16")
    assert positional == [1, -2.5, True, None, (1, 2), "a b"]
    assert keywords == {"tk": 64, "acc": bfloat16}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f33[8]", "unknown dtype 'f33', expected one of bool, i8"),
        ("f32[8]:tile(8)", "unknown modifier 'tile', expected partition, accumulate, unchecked"),
        ("f32[8]:accumulate:unchecked", "an array takes one access, found accumulate and"),
        ("f32[8,8]:strides(1)", "shape has rank 2, strides have rank 1"),
        ("tk=64 3", "argument '3' without a name follows one with a name"),
        ("f32[8", "cannot understand argument 'f32[8'"),
        ("x*y", "cannot understand argument 'x*y'"),
    ],
)
def test_described_nonsense_is_refused(text, message):
    with pytest.raises(DescriptionError) as refusal:
        parse_arguments(text)
    assert refusal.value.message.startswith(message)
