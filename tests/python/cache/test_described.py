import pytest

from tilec import _runtime
from tilec.arrays.description import ArraySpec
from tilec.diagnostics import TilecError
from tilec.jit.described import parse_arguments
from tilec.lang.dtypes import bfloat16, float32


def test_described_array_has_dtype_and_shape():
    (x, y), keywords = parse_arguments("bf16[3, 5] f32[]")
    assert x == ArraySpec((3, 5), bfloat16)
    assert y == ArraySpec((), float32)
    assert keywords == {}


def test_described_strides_count_elements():
    ((x,), _) = parse_arguments("f64[4,8]:strides(1,4)")
    assert x == ArraySpec((4, 8), "float64", strides=(1, 4))


def test_described_markers_wrap_the_array():
    (y, a, u), _ = parse_arguments("f16[8,64]:partition(1,64) i32[8]:accumulate i32[8]:unchecked")
    assert (y.array.shape, tuple(y.tile_shape)) == ((8, 64), (1, 64))
    assert [marker.access for marker in (y, a, u)] == ["exclusive", "atomic", "unchecked"]


def test_described_partition_may_leave_its_tile_to_the_plan():
    (y,), _ = parse_arguments("f16[8,64]:strides(128,1):partition(auto)")
    assert y.tile_shape is _runtime.AUTO
    assert y.array == ArraySpec((8, 64), "float16", strides=(128, 1))


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
        ("f32[8,8]:strides(auto)", "auto stands for a tile shape, as in partition(auto)"),
        ("f32[8,8]:strides(1)", "shape has 2 dimensions, strides have 1"),
        ("tk=64 3", "argument '3' without a name follows one with a name"),
        ("f32[8", "cannot understand argument 'f32[8'"),
        ("x*y", "cannot understand argument 'x*y'"),
    ],
)
def test_described_nonsense_is_refused(text, message):
    with pytest.raises(TilecError) as refusal:
        parse_arguments(text)
    assert refusal.value.message.startswith(message)
