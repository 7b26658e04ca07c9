"""The facts that select a variant, decoded, against a plain Python account of them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from recording_driver import DeviceArray

from tilec import _runtime
from tilec._runtime import partition

DTYPES = {"b1": "bool", "i1": "i8", "u1": "u8", "f2": "f16", "i4": "i32", "f4": "f32", "f8": "f64"}


def power_of_two(value: int, limit: int) -> int:
    if value == 0:
        return limit
    return min(value & -value, limit)


def facts(array, access: str, tile) -> tuple:
    """ViewSpec of docs/notes/interfaces.md, for an array without dimensions of length 0 or 1."""
    item = np.dtype(array.typestr).itemsize
    strides = [step // item for step in array.strides]
    low = sum(min(s * (n - 1), 0) for s, n in zip(strides, array.shape, strict=True)) * item
    high = sum(max(s * (n - 1), 0) for s, n in zip(strides, array.shape, strict=True)) * item
    fits = all(0 < s * item < 2**40 for s in strides) and all(n < 2**31 for n in array.shape)
    wide = high + item > 2**31 - 1 or -low > 2**31 - 1 or max(array.shape, default=0) > 2**31 - 1
    return (
        "view",
        DTYPES[array.typestr[1:]],
        len(array.shape),
        access,
        tuple(step == 1 for step in strides),
        tuple(power_of_two(n, 16) for n in array.shape),
        tuple(power_of_two(step * item, 128) for step in strides),
        power_of_two(array.pointer, 128 if fits else 8),
        64 if wide else 32,
        tile,
    )


def test_facts_of_random_arrays_equal_the_account(driver, memory, kernel_class):
    rng = random.Random(3)
    kernel = kernel_class("x")
    kinds: set[tuple] = set()
    for _ in range(2000):
        rank = rng.randint(0, 8)
        typestr = rng.choice(["|b1", "|i1", "|u1", "<f2", "<i4", "<f4", "<f8"])
        item = int(typestr[2])
        rare = rng.choice((1, 2, 4, 8, -1, -8, 2**36))
        long = rng.choice((2, 3, 5, 2**31 - 1, 2**31, 2**33))
        shape = tuple(rng.choice((2, 3, 4, 8, 12, 16, 48, 1000, long)) for _ in range(rank))
        strides = tuple(
            rng.choice((0, 1, 1, 2, 3, 16, 24, 1024, 2**20, rare)) * item for _ in range(rank)
        )
        x = memory.array((1,), typestr, offset=rng.choice((0, 8, 16, 32, 64, 128)))
        x.shape, x.strides = shape, strides
        specs, device = kernel._specialize(x)
        assert device == 0
        assert specs == (facts(x, "read", None),)
        kinds.add(specs)
    assert len(kinds) > 1500
    assert len({spec[0][7] for spec in kinds}) == 5  # 8 (also for want of a tensor map) ... 128


def test_partition_adds_its_tile(driver, memory, kernel_class):
    y = memory.array((64, 48), strides=(192, 4))
    specs, _ = kernel_class("y")._specialize(partition(y, (8, 24)))
    assert specs == (facts(y, "exclusive", (8, 24)),)


def test_dimension_of_length_one_has_its_contiguous_stride(driver, memory, kernel_class):
    kernel = kernel_class("x")
    for strides in ((4096, 4), (12345 * 4, 4), (4, 4), (0, 4), (-4, 4)):
        specs, _ = kernel._specialize(memory.array((1, 1024), strides=strides))
        assert specs[0][4:7] == ((False, True), (1, 16), (128, 4))
    for strides in ((4, 4), (4, 400), (4, 0)):
        specs, _ = kernel._specialize(memory.array((1024, 1), strides=strides))
        assert specs[0][4:7] == ((True, True), (16, 1), (4, 4))


def test_empty_array_is_like_a_contiguous_one(driver, memory, kernel_class):
    specs, _ = kernel_class("x")._specialize(memory.array((0, 24), strides=(4, 12)))
    assert specs[0][4:9] == ((False, True), (16, 8), (32, 4), 8, 32)


@pytest.mark.parametrize(
    ("shape", "strides", "align"),
    [
        ((64, 64), (256, 4), 128),
        ((64, 64), (-256, 4), 8),
        ((64, 64), (2**40 - 128, 4), 128),
        ((64, 64), (2**40, 4), 8),
        ((2**31 - 1,), (4,), 128),
        ((2**31,), (4,), 8),
        ((2**31, 64), (0, 4), 8),
        ((64, 64), (0, 4), 8),
        ((64, 0), (0, 4), 8),
    ],
)
def test_array_that_no_tensor_map_describes_is_aligned_to_less_than_one_needs(
    driver, memory, kernel_class, shape, strides, align
):
    specs, _ = kernel_class("x")._specialize(DeviceArray((1 << 40) + 2**20, shape, strides=strides))
    assert specs[0][7] == align


@pytest.mark.parametrize(
    ("shape", "typestr", "bits"),
    [
        ((2**31 - 1,), "|i1", 32),
        ((2**31,), "|i1", 64),
        ((2**29 - 1,), "<f4", 32),
        ((2**29,), "<f4", 64),
    ],
)
def test_index_width_turns_at_the_last_byte(driver, memory, kernel_class, shape, typestr, bits):
    specs, _ = kernel_class("x")._specialize(memory.array(shape, typestr))
    assert specs[0][8] == bits


def test_every_dtype_that_the_language_has_is_bound(kernel_class):
    from tilec.arrays import ArraySpec
    from tilec.lang.dtypes import DTYPES, tfloat32

    kernel = kernel_class("x")
    for dtype in DTYPES:
        if dtype is not tfloat32:  # a way to multiply, not a way to store
            specs, device = kernel._specialize(ArraySpec((4,), dtype))
            assert (specs[0][1], device) == (dtype.short, None)


def test_description_gives_the_facts_of_its_array(driver, memory, kernel_class):
    from tilec.arrays import ArraySpec

    kernel = kernel_class("x")
    for array, description in (
        (memory.array((64, 24)), ArraySpec((64, 24), "float32")),
        (memory.array((64, 24), offset=8), ArraySpec((64, 24), "float32", align_bytes=8)),
        (
            memory.array((64, 24), strides=(4, 256)),
            ArraySpec((64, 24), "float32", strides=(1, 64)),
        ),
    ):
        assert kernel._specialize(array)[0] == kernel._specialize(description)[0]


def test_launcher_without_init_is_refused():
    class Bare(_runtime.Launcher):
        def __init__(self):
            pass

    with pytest.raises(RuntimeError, match=r"Launcher.__init__ was not called"):
        Bare()._specialize()
