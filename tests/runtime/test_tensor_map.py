"""Arrays that a kernel takes as tensor maps: what is encoded, what is kept, what is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest
from recording_driver import DeviceArray, FakeDriver

from tilec._runtime import partition
from tilec.diagnostics import DriverError, LaunchError


def map_of(arg: int = 0, **more: Any) -> dict[str, Any]:
    """A map of a row-major f32 matrix, with changes."""
    plain = {"kind": "tensor_map", "arg": arg, "order": [1, 0], "box": [16, 64]}
    return {**plain, "swizzle": 64, "element_bytes": 4, **more}


def arrived(driver: FakeDriver, number: int = 0) -> dict[str, Any]:
    """The map in the parameters of the last launch, without what is the same in all of them."""
    made = driver.last.maps[number]
    rank = made.rank
    assert (made.interleave, made.promotion, made.fill) == (0, 2, 0)
    assert list(made.element_strides)[:rank] == [1] * rank
    assert driver.last.map_addresses[number] % 64 == 0
    return {
        "type": made.type,
        "address": made.address,
        "extents": list(made.extents)[:rank],
        "strides": list(made.strides)[: rank - 1],
        "box": list(made.box)[:rank],
        "swizzle": made.swizzle,
    }


def test_map_arrives_between_the_other_parameters(driver, memory, kernel_class):
    kernel = kernel_class(
        "y",
        "x",
        params=[
            {"kind": "pointer", "arg": 0},
            map_of(1, order=[1, 0], box=[64, 128], swizzle=128, element_bytes=2),
            {"kind": "shape", "arg": 1, "dim": 0},
        ],
    )
    y = memory.array((256, 512))
    x = memory.array((256, 512), "<f2", strides=(2048, 2))
    driver.record_maps(1, 1)
    driver.library.fake_set_parameter_count(3)
    kernel(partition(y, (64, 64)), x)
    assert arrived(driver) == {
        "type": 1,
        "address": x.pointer,
        "extents": [512, 256],
        "strides": [2048],
        "box": [64, 128],
        "swizzle": 3,
    }
    pointer, _, rows = driver.parameters(3)
    assert (pointer, rows) == (y.pointer, 256)
    assert driver.counter("extended_launches") == 0


@pytest.mark.parametrize(
    ("typestr", "element_bytes", "data_type"),
    [("|u1", 1, 0), ("<f2", 2, 1), ("<f4", 4, 2), ("<i8", 8, 4)],
)
def test_map_has_the_data_type_of_its_element_size(
    driver, memory, kernel_class, typestr, element_bytes, data_type
):
    entry = map_of(order=[0], box=[16], swizzle=0, element_bytes=element_bytes)
    driver.record_maps(0, 1)
    kernel_class("y", params=[entry])(partition(memory.array((32,), typestr), (16,)))
    made = arrived(driver)
    assert (made["type"], made["extents"], made["strides"]) == (data_type, [32], [])


@pytest.mark.parametrize(("swizzle", "code"), [(0, 0), (32, 1), (64, 2), (128, 3)])
def test_map_has_the_swizzle_of_the_plan(driver, memory, kernel_class, swizzle, code):
    kernel = kernel_class("y", params=[map_of(swizzle=swizzle, box=[8, 256])])
    driver.record_maps(0, 1)
    kernel(partition(memory.array((64, 64)), (64, 64)))
    assert (arrived(driver)["swizzle"], arrived(driver)["box"]) == (code, [8, 256])


def test_map_of_five_dimensions_lists_them_innermost_first(driver, memory, kernel_class):
    shape, strides = (6, 5, 16, 3, 7), (32, 1 << 20, 4, 0, 4096)
    entry = map_of(order=[2, 0, 4, 3, 1], box=[16, 1, 2, 3, 4])
    x = DeviceArray((1 << 40) + 512, shape, strides=strides)
    driver.record_maps(0, 1)
    kernel_class("y", "x", params=[entry | {"arg": 1}])(partition(memory.array((4,)), (4,)), x)
    made = arrived(driver)
    assert made["extents"] == [16, 6, 7, 3, 5]
    assert made["strides"] == [32, 4096, 0, 1 << 20]
    assert made["box"] == [16, 1, 2, 3, 4]


def test_extent_of_zero_is_encoded_as_one(driver, memory, kernel_class):
    kernel = kernel_class("y", "x", params=[map_of(1)])
    driver.record_maps(0, 1)
    kernel(partition(memory.array((4,)), (4,)), memory.array((5, 0)))
    assert arrived(driver)["extents"] == [1, 5]


def test_known_array_is_not_encoded_again(driver, memory, kernel_class):
    kernel = kernel_class("y", "a", "b", params=[map_of(0), map_of(1), map_of(2)])
    sets = [[memory.array((64, 64)) for _ in range(3)] for _ in range(64)]
    driver.record_maps(0, 3)
    for _ in range(3):
        for y, a, b in sets:
            kernel(partition(y, (64, 64)), a, b)
            addresses = [arrived(driver, k)["address"] for k in range(3)]
            assert addresses == [y.pointer, a.pointer, b.pointer]
    assert len(kernel.misses) == 1
    assert driver.counter("encoded_maps") == 3 * 64


def test_array_that_differs_only_in_a_stride_or_extent_has_another_map(
    driver, memory, kernel_class
):
    kernel = kernel_class("y", "x", params=[map_of(1)])
    y, pointer = partition(memory.array((4,)), (4,)), (1 << 40) + (1 << 20)
    driver.record_maps(0, 1)
    for shape, stride in (((64, 64), 256), ((64, 64), 512), ((32, 64), 256), ((64, 48), 256)):
        kernel(y, DeviceArray(pointer, shape, strides=(stride, 4)))
        made = arrived(driver)
        assert (made["extents"], made["strides"]) == ([shape[1], shape[0]], [stride])
    assert driver.counter("encoded_maps") == 4


def test_many_arrays_in_any_order_have_their_own_maps(driver, memory, kernel_class):
    kernel = kernel_class("y", params=[map_of()])
    rng = random.Random(5)
    arrays = [memory.array((rng.choice((16, 32, 48)), 64)) for _ in range(300)]
    driver.record_maps(0, 1)
    for _ in range(3000):
        y = rng.choice(arrays)
        kernel(partition(y, (16, 64)))
        made = arrived(driver)
        assert (made["address"], made["extents"]) == (y.pointer, [64, y.shape[0]])
    # 128 of them are kept: about four launches of ten find theirs.
    assert 1500 < driver.counter("encoded_maps") < 2100
    before = driver.counter("encoded_maps")
    for _ in range(2):
        for y in arrays[:128]:
            kernel(partition(y, (16, 64)))
    assert driver.counter("encoded_maps") - before <= 128


def test_devices_and_variants_share_nothing_that_differs(driver, memory, kernel_class):
    kernel = kernel_class("y", params=[map_of()])
    driver.record_maps(0, 1)
    for device in (0, 1, 0, 1):
        y = memory.array((16, 64), device=device)
        kernel(partition(y, (16, 64)))
        assert arrived(driver)["address"] == y.pointer
        assert driver.last.context == 0xC0 + device


def test_maps_beyond_the_inline_ones_are_aligned_on_the_heap(driver, memory, kernel_class):
    names = [f"x{k}" for k in range(12)]
    kernel = kernel_class("y", *names, params=[map_of(1 + k) for k in range(12)])
    arrays = [memory.array((16, 64)) for _ in names]
    driver.record_maps(0, 12)
    kernel(partition(memory.array((4,)), (4,)), *arrays)
    assert [arrived(driver, k)["address"] for k in range(12)] == [x.pointer for x in arrays]


def test_driver_without_tensor_maps_is_refused_only_for_a_kernel_with_one(
    driver, memory, kernel_class
):
    driver.library.fake_hide(b"cuTensorMapEncodeTiled")
    y = partition(memory.array((16, 64)), (16, 64))
    kernel_class("y")(y)
    with pytest.raises(DriverError) as error:
        kernel_class("y", params=[map_of()])(y)
    assert error.value.message == (
        "the NVIDIA driver lacks cuTensorMapEncodeTiled, which CUDA 12.0 introduced"
    )
    assert driver.launches == 1


def refusal(kernel: Any, x: DeviceArray, y: Any) -> LaunchError:
    with pytest.raises(LaunchError) as error:
        kernel(y, (1, x))
    return error.value


WANTED = (
    "expected extents of at most 2147483647, a pointer and strides (but the innermost one) that "
    "are multiples of 16 bytes, and strides from 0 to below 2^40 bytes"
)


@pytest.mark.parametrize(
    ("offset", "shape", "strides", "facts", "reason"),
    [
        (
            8,
            (32, 64),
            (256, 4),
            "shape (32, 64), strides of (256, 4) bytes, a pointer aligned to 8 bytes",
            "cuTensorMapEncodeTiled failed with CUDA_ERROR_INVALID_VALUE (invalid argument)",
        ),
        (
            0,
            (32, 63),
            (252, 4),
            "shape (32, 63), strides of (252, 4) bytes, a pointer aligned to 128 bytes",
            "cuTensorMapEncodeTiled failed with CUDA_ERROR_INVALID_VALUE (invalid argument)",
        ),
        (
            0,
            (32, 64),
            (-256, 4),
            "shape (32, 64), strides of (-256, 4) bytes, a pointer aligned to 128 bytes",
            "cuTensorMapEncodeTiled failed with CUDA_ERROR_INVALID_VALUE (invalid argument)",
        ),
        (
            0,
            (2**31, 64),
            (0, 4),
            "shape (2147483648, 64), strides of (0, 4) bytes, a pointer aligned to 128 bytes",
            "coordinates have 32 bits",
        ),
    ],
)
def test_array_that_tma_cannot_take_is_refused_with_its_facts(
    driver, memory, kernel_class, offset, shape, strides, facts, reason
):
    kernel = kernel_class("y", "pair", params=[map_of(2)])
    x = DeviceArray((1 << 40) + 2**20 + offset, shape, strides=strides)
    error = refusal(kernel, x, partition(memory.array((4,)), (4,)))
    assert error.message == (
        f"argument 'pair[1]' cannot be described to TMA: {facts}; {WANTED} ({reason})"
    )
    assert error.hint == "pass a contiguous copy"
    assert driver.launches == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": []}, "'order' is not a list of 1 to 5 numbers"),
        ({"order": [5, 4, 3, 2, 1, 0]}, "'order' is not a list of 1 to 5 numbers"),
        ({"order": [0, 0]}, "'order' is not a permutation"),
        ({"order": [2, 0]}, "'order' is not a permutation"),
        ({"order": [5, 0]}, "'order' is out of range"),
        ({"box": [16]}, "'box' and 'order' differ in length"),
        ({"box": [16, 257]}, "'box' is out of range"),
        ({"box": [16, 0]}, "'box' is out of range"),
        ({"box": 16}, "'box' is not a list of 1 to 5 numbers"),
        ({"swizzle": 16}, "'swizzle' is not 0, 32, 64 or 128"),
        ({"element_bytes": 3}, "'element_bytes' is not 1, 2, 4 or 8"),
        ({"box": [6, 64]}, "a row of 'box' has 24 bytes, expected a multiple of 16"),
        (
            {"box": [32, 64]},
            "a row of 'box' has 128 bytes, expected at most the 64 of 'swizzle'",
        ),
        ({"arg": 7}, "it refers to argument 7 of 1"),
        ({"order": [0], "box": [16]}, "it disagrees with argument 0"),
        ({"order": [0, 1]}, "it disagrees with argument 0"),
        ({"element_bytes": 2, "box": [32, 64]}, "it disagrees with argument 0"),
    ],
)
def test_malformed_map_is_refused(driver, memory, kernel_class, change, message):
    kernel = kernel_class("y", params=[map_of(**change)])
    with pytest.raises(ValueError) as error:
        kernel(partition(memory.array((64, 64)), (64, 64)))
    assert str(error.value) == f"malformed launch plan: {message}"
    assert driver.launches == 0


def test_map_of_a_scalar_is_refused(driver, memory, kernel_class):
    kernel = kernel_class("y", "s", params=[map_of(1)])
    with pytest.raises(ValueError, match="malformed launch plan: it disagrees with argument 1"):
        kernel(partition(memory.array((64, 64)), (64, 64)), 1.5)
