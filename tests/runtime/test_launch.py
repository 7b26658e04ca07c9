"""What reaches the driver when a kernel is launched."""

from __future__ import annotations

import gc
import struct
import sys
import threading

import pytest

from tilec import _runtime
from tilec._runtime import partition
from tilec.diagnostics import DriverError, LaunchError


def bits(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def test_launch_passes_pointers_shapes_and_strides_in_plan_order(driver, memory, kernel_class):
    kernel = kernel_class("y", "x", "s")
    y = memory.array((100, 60))
    x = memory.array((100, 60), strides=(512, 8))
    driver.library.fake_set_parameter_count(10)
    kernel(partition(y, (8, 32)), x, 2.5)
    assert driver.parameters(10) == [
        *(y.pointer, 100, 60, 60),
        *(x.pointer, 100, 60, 128, 2),
        bits(2.5),
    ]
    assert list(driver.last.grid) == [13 * 2, 1, 1]
    assert list(driver.last.block) == [128, 1, 1]


def test_second_launch_with_the_same_key_does_not_reach_python(driver, memory, kernel_class):
    kernel = kernel_class("y", "x", "s")
    for rows in (16, 32, 48):
        y, x = memory.array((rows, 64)), memory.array((rows, 64))
        kernel(partition(y, (1, 64)), x, rows)
        assert driver.last.grid[0] == rows
    assert len(kernel.misses) == 1
    assert driver.launches == 3
    assert driver.counter("loads") == 1


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"offset": 4}, "alignment"),
        ({"typestr": "<i4"}, "dtype"),
        ({"strides": (512, 8)}, "unit stride"),
        ({"strides": (260, 4)}, "stride alignment"),
    ],
)
def test_launch_with_another_fact_makes_another_variant(driver, memory, kernel_class, change, name):
    kernel = kernel_class("y", "x")
    y = memory.array((16, 64))
    kernel(partition(y, (1, 64)), memory.array((16, 64)))
    kernel(partition(y, (1, 64)), memory.array((16, 64), **change))
    assert len(kernel.misses) == 2, name


def test_launch_with_another_tile_or_divisibility_makes_another_variant(
    driver, memory, kernel_class
):
    kernel = kernel_class("y")
    for rows, tile in ((16, (1, 64)), (16, (2, 64)), (17, (1, 64)), (33, (1, 64))):
        kernel(partition(memory.array((rows, 64)), tile))
    assert len(kernel.misses) == 3  # 17 and 33 are both odd


def test_scalars_share_a_variant_until_their_width_changes(driver, memory, kernel_class):
    kernel = kernel_class("y", "s")
    y = memory.array((4,), "<i8")
    driver.library.fake_set_parameter_count(3)
    values = [1, 0, 16, 2**31 - 1, 2**31, 2**32 + 1, -(2**31) - 1, 2**63 - 1, -(2**63), 2**63]
    for value in values:
        kernel(partition(y, (4,)), value)
        size = {"i32": 4, "i64": 8, "u64": 8}[kernel.misses[-1][0][1][1]]
        del size
        assert driver.parameters(3)[2] in (value % 2**64, value % 2**32)
    assert [specs[1][1] for specs, _ in kernel.misses] == ["i32", "i64", "u64"]


def test_bool_scalar_is_one_byte(driver, memory, kernel_class):
    kernel = kernel_class("y", "flag")
    driver.library.fake_set_parameter_count(3)
    kernel(partition(memory.array((4,)), (4,)), True)
    assert driver.parameters(3)[2] == 1
    assert kernel.misses[0][0][1] == ("scalar", "bool")


def test_numpy_scalars_are_numbers(driver, memory, kernel_class):
    import numpy as np

    kernel = kernel_class("y", "a", "b", "c", "d")
    driver.library.fake_set_parameter_count(6)
    y = memory.array((4,))
    kernel(partition(y, (4,)), np.int8(-1), np.uint64(2**63), np.float64(0.5), np.bool_(True))
    assert driver.parameters(6)[2:] == [2**32 - 1, 2**63, bits(0.5), 1]


def test_explicit_grid_is_the_grid(driver, memory, kernel_class):
    kernel = kernel_class("y")
    kernel(_runtime.unchecked(memory.array((4,))), grid=(3, 4, 5))
    assert list(driver.last.grid) == [3, 4, 5]
    kernel(_runtime.unchecked(memory.array((4,))), grid=7)
    assert list(driver.last.grid) == [7, 1, 1]


def test_stream_of_the_interface_is_the_stream(driver, memory, kernel_class):
    kernel = kernel_class("y", "x")
    y = memory.array((4,), stream=77)
    kernel(partition(y, (4,)), memory.array((4,)))
    assert driver.last.stream == 77
    kernel(partition(y, (4,)), memory.array((4,)), stream=99)
    assert driver.last.stream == 99


def test_stream_objects_of_libraries_are_accepted(driver, memory, kernel_class):
    class Protocol:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 11

    class Torch:
        cuda_stream = 12

    class Cupy:
        ptr = 13

    kernel = kernel_class("y")
    for stream, handle in ((Protocol(), 11), (Torch(), 12), (Cupy(), 13), (None, 0), (2, 2)):
        kernel(partition(memory.array((4,)), (4,)), stream=stream)
        assert driver.last.stream == handle


def test_stream_of_another_device_is_refused(driver, memory, kernel_class):
    kernel = kernel_class("y")
    y = partition(memory.array((4,), device=1), (4,))
    kernel(y, stream=(1 << 40) + 8)
    with pytest.raises(LaunchError) as error:
        kernel(y, stream=8)
    assert error.value.message == (
        "stream= belongs to another device or context than the arrays, which are on cuda:1"
    )
    assert driver.launches == 1


def test_different_streams_of_two_arrays_are_refused(driver, memory, kernel_class):
    kernel = kernel_class("y", "x")
    with pytest.raises(LaunchError) as error:
        kernel(partition(memory.array((4,), stream=5), (4,)), memory.array((4,), stream=6))
    assert error.value.message == "arguments belong to different streams: 'y' to 5, 'x' to 6"
    assert driver.launches == 0


def test_primary_context_is_current_during_the_launch_and_restored_after(
    driver, memory, kernel_class
):
    kernel = kernel_class("y")
    driver.library.fake_push_context(ctypes_u64(0xABC))
    for device in (1, 0, 1):
        kernel(partition(memory.array((4,), device=device), (4,)))
        assert driver.last.context == 0xC0 + device
        assert driver.last.function & 0xF == device
        assert driver.library.fake_current_context() == 0xABC
    assert (driver.counter("retains0"), driver.counter("retains1")) == (1, 1)
    assert [device for _, device in kernel.misses] == [1, 0]


def ctypes_u64(value: int):
    import ctypes

    return ctypes.c_uint64(value)


def test_launch_from_a_thread_without_context_works(driver, memory, kernel_class):
    kernel = kernel_class("y")
    y = memory.array((4,))
    kernel(partition(y, (4,)))
    contexts: list[int] = []

    def work() -> None:
        kernel(partition(y, (4,)))
        contexts.append(driver.last.context)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert contexts == [0xC0]


def test_threads_racing_to_the_first_launch_resolve_once(driver, memory, kernel_class):
    class Slow(kernel_class):
        def _resolve(self, specs, device):
            threading.Event().wait(0.05)
            return super()._resolve(specs, device)

    kernel = Slow("y", "x")
    start = threading.Barrier(8)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            y, x = memory.array((16,)), memory.array((16,))
            start.wait()
            for _ in range(50):
                kernel(partition(y, (16,)), x)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(kernel.misses) == 1
    assert driver.counter("loads") == 1
    assert driver.launches == 400


def test_failed_resolve_is_tried_again(driver, memory, kernel_class):
    class Failing(kernel_class):
        fail = True

        def _resolve(self, specs, device):
            if self.fail:
                raise ZeroDivisionError
            return super()._resolve(specs, device)

    kernel = Failing("y")
    y = partition(memory.array((4,)), (4,))
    with pytest.raises(ZeroDivisionError):
        kernel(y)
    kernel.fail = False
    kernel(y)
    assert driver.launches == 1


def test_shared_memory_above_the_default_is_opted_in(driver, memory, kernel_class):
    kernel_class("y", shared_bytes=48 * 1024)(partition(memory.array((4,)), (4,)))
    assert driver.counter("shared_attribute_bytes") == 0
    kernel_class("y", shared_bytes=100_000)(partition(memory.array((4,), device=1), (4,)))
    assert driver.counter("shared_attribute_bytes") == 100_000
    assert driver.counter("shared_attribute_device") == 1
    assert driver.last.shared_bytes == 100_000


def test_shared_memory_beyond_the_device_is_refused(driver, memory, kernel_class):
    with pytest.raises(LaunchError) as error:
        kernel_class("y", shared_bytes=300_000)(partition(memory.array((4,)), (4,)))
    assert error.value.message == "kernel needs 300000 bytes of shared memory, device 0 has 232448"


def test_cluster_of_the_plan_is_a_launch_attribute(driver, memory, kernel_class):
    kernel_class("y", cluster=[2, 1, 1])(partition(memory.array((4,)), (1,)))
    assert driver.last.attribute_count == 1
    assert driver.last.attribute_id == 4
    assert list(driver.last.cluster) == [2, 1, 1]


@pytest.mark.parametrize("shape", [(0, 64), (64, 0), (0, 0)])
def test_empty_grid_launches_nothing(driver, memory, kernel_class, shape):
    kernel = kernel_class("y", "x")
    kernel(partition(memory.array(shape), (8, 64)), memory.array(shape))
    assert driver.launches == 0
    assert kernel.misses == []
    kernel(partition(memory.array((8, 64)), (8, 64)), memory.array((8, 64)))
    kernel(partition(memory.array(shape), (8, 64)), memory.array(shape))
    assert driver.launches == 1


def test_empty_input_with_null_pointer_is_launched(driver, memory, kernel_class):
    kernel = kernel_class("y", "x")
    x = memory.array((5, 0), strides=(4, 12))
    x.pointer = 0
    driver.library.fake_set_parameter_count(6)
    kernel(partition(memory.array((5,)), (1,)), x)
    assert driver.launches == 1
    assert driver.parameters(6)[2:5] == [0, 5, 0]


def test_variant_is_unloaded_with_its_kernel(driver, memory, kernel_class):
    kernel = kernel_class("y")
    kernel(partition(memory.array((4,)), (4,)))
    del kernel
    gc.collect()
    assert driver.counter("unloads") == 1


def test_refused_cubin_falls_back_to_ptx(driver, memory, kernel_class):
    kernel = kernel_class("y", image=b"refused cubin")
    kernel.fallback = b".version 8.0"
    kernel(partition(memory.array((4,)), (4,)))
    assert driver.last_image == b".version 8.0"
    assert driver.launches == 1


def test_refused_image_without_fallback_is_a_driver_error(driver, memory, kernel_class):
    kernel = kernel_class("y", image=b"refused cubin")
    with pytest.raises(DriverError) as error:
        kernel(partition(memory.array((4,)), (4,)))
    assert error.value.message == (
        "cuLibraryLoadData failed with CUDA_ERROR_NO_BINARY_FOR_GPU (an error of the fake) while "
        "loading kernel: the fake refuses this image"
    )


def test_missing_symbol_is_a_driver_error(driver, memory, kernel_class):
    with pytest.raises(DriverError, match=r"cuLibraryGetKernel failed .* while loading absent"):
        kernel_class("y", symbol="absent")(partition(memory.array((4,)), (4,)))
    assert driver.counter("unloads") == 1


def test_failed_launch_says_what_was_launched(driver, memory, kernel_class):
    driver.library.fake_set_launch_result(1)
    with pytest.raises(DriverError) as error:
        kernel_class("y")(partition(memory.array((4,)), (1,)))
    assert error.value.message == (
        "cuLaunchKernel failed with CUDA_ERROR_INVALID_VALUE (invalid argument) while launching "
        "kernel with grid (4, 1, 1) of 128 threads on cuda:0"
    )


def test_module_is_loaded_in_relaxed_capture_mode(driver, memory, kernel_class):
    kernel = kernel_class("y")
    for _ in range(3):
        kernel(partition(memory.array((4,)), (4,)))
    assert driver.counter("capture_exchanges") == 2  # there and back, once


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "malformed launch plan: unknown version"),
        ({"threads": "many"}, "malformed launch plan: 'threads' is out of range"),
        ({"grid": {"rule": "spiral"}}, "malformed launch plan: unknown grid rule 'spiral'"),
        ({"grid": {"rule": "explicit"}}, "malformed launch plan: its grid rule does not fit"),
        (
            {"params": [{"kind": "pointer", "arg": 3}]},
            "malformed launch plan: it refers to argument 3 of 1",
        ),
        (
            {"params": [{"kind": "scalar", "arg": 0, "dtype": "f32"}]},
            "malformed launch plan: it disagrees with argument 0",
        ),
        (
            {"params": [{"kind": "texture", "arg": 0}]},
            "malformed launch plan: unknown parameter kind 'texture'",
        ),
    ],
)
def test_malformed_plan_is_refused(driver, memory, kernel_class, change, message):
    with pytest.raises(ValueError, match=message):
        kernel_class("y", **change)(partition(memory.array((4,)), (4,)))
    assert driver.launches == 0


def test_guards_that_fail_make_a_miss_and_hold_again_later(driver, memory, kernel_class):
    scope = {"VALUE": 1}
    kernel = kernel_class("y")
    y = partition(memory.array((4,)), (4,))
    one, two = object(), object()
    for value in (one, two, one, two):
        scope["VALUE"] = value
        kernel.guards = [("dict", scope, "VALUE", value)]
        kernel(y)
        kernel(y)
    assert len(kernel.misses) == 2


def test_guards_of_every_kind_are_checked(driver, memory, kernel_class):
    kernel = kernel_class("y")
    y = partition(memory.array((4,)), (4,))
    content, scope, holds = 1, {}, True
    cell = (lambda: content).__closure__[0]
    kernel.guards = [
        ("cell", cell, cell.cell_contents),
        ("dict", scope, "absent"),
        ("predicate", lambda: holds),
    ]
    kernel(y)
    kernel(y)
    assert len(kernel.misses) == 1
    scope["absent"] = 1
    kernel(y)
    del scope["absent"]
    kernel(y)
    assert len(kernel.misses) == 2
    content = object()
    kernel(y)
    assert len(kernel.misses) == 3
    kernel.guards = []
    holds = False
    kernel(y)
    assert len(kernel.misses) == 4


def test_many_keys_are_all_found_again(driver, memory, kernel_class):
    kernel = kernel_class("y", ("k", True, True))
    y = partition(memory.array((4,)), (4,))
    for _ in range(2):
        for value in range(500):
            kernel(y, k=value)
    assert len(kernel.misses) == 500
    assert driver.launches == 1000


def test_many_arguments_move_to_the_heap(driver, memory, kernel_class):
    names = [f"x{k}" for k in range(60)]
    kernel = kernel_class("y", *names)
    arrays = [memory.array((k + 1,)) for k in range(60)]
    driver.library.fake_set_parameter_count(64)
    kernel(partition(memory.array((8,)), (8,)), *arrays)
    pointers = driver.parameters(64)[2::2]
    assert pointers == [array.pointer for array in arrays[:31]]


def test_launches_and_refusals_leak_no_references(driver, memory, kernel_class):
    kernel = kernel_class("y", "pair", ("k", True, True))
    y, x, number, constant = memory.array((4,)), memory.array((4,)), 12345.5, ("a", "tuple")
    marked, pair = partition(y, (4,)), [x, (number, None)]
    held = [y, x, number, constant, marked, pair, pair[1], kernel]

    def use() -> None:
        kernel(marked, pair, k=constant)
        for wrong in ([x, y], [x, "text"], [y]):
            with pytest.raises(LaunchError):
                kernel(marked, wrong, k=constant)

    use()
    gc.collect()
    before = [sys.getrefcount(item) for item in held]
    for _ in range(200):
        use()
    gc.collect()
    assert [sys.getrefcount(item) for item in held] == before
