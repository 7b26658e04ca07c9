"""What is refused before anything is launched, and what is not."""

from __future__ import annotations

import pytest

from tilec._runtime import accumulate, partition, unchecked
from tilec.arrays import ArraySpec
from tilec.diagnostics import LaunchError


@pytest.fixture
def refusal(driver):
    def check(kernel, *args, **kwargs) -> tuple[str, str | None]:
        before = driver.launches
        with pytest.raises(LaunchError) as error:
            kernel(*args, **kwargs)
        assert driver.launches == before
        assert kernel.misses == []  # nothing was compiled for it either
        return error.value.message, error.value.hint

    return check


@pytest.fixture
def kernel(kernel_class):
    return kernel_class("y", "x", "z")


def test_partitions_with_different_tile_grids_are_refused(refusal, kernel, memory):
    y = partition(memory.array((128, 64)), (32, 64))
    z = partition(memory.array((128, 64)), (16, 64))
    assert refusal(kernel, y, 1, z) == (
        "partitions have different tile grids: 'y' has (4, 1) tiles of (32, 64), 'z' has (8, 1) "
        "tiles of (16, 64)",
        "every program owns one tile of each partition",
    )


def test_partitions_of_different_rank_are_refused(refusal, kernel, memory):
    y = partition(memory.array((128, 64)), (32, 64))
    message, _ = refusal(kernel, y, 1, partition(memory.array((128,)), (32,)))
    assert message == (
        "partitions have different tile grids: 'y' has (4, 1) tiles of (32, 64), 'z' has (4,) "
        "tiles of (32,)"
    )


def test_partitions_with_one_tile_grid_are_launched(driver, kernel, memory):
    y = partition(memory.array((100, 64)), (32, 64))
    kernel(y, 1, partition(memory.array((7, 9)), (2, 9)))
    assert driver.last.grid[0] == 4


def test_output_that_is_also_an_input_is_refused(refusal, kernel, memory):
    array = memory.array((64, 64))
    assert refusal(kernel, partition(array, (8, 64)), array, 1) == (
        "argument 'y' is written, but shares memory with argument 'x', expected disjoint arrays",
        "to work in place, read the output itself: 'y'.load(), and do not pass 'x'",
    )


def test_two_outputs_in_one_memory_are_refused(refusal, kernel, memory):
    array = memory.array((64, 64))
    shifted = memory.array((64, 64))
    shifted.pointer = array.pointer + 64 * 63 * 4 + 252
    assert refusal(kernel, partition(array, (8, 64)), 1, partition(shifted, (8, 64))) == (
        "argument 'y' is written, but shares memory with argument 'z', expected disjoint arrays",
        "give each output memory of its own",
    )
    shifted.pointer += 4
    kernel(partition(array, (8, 64)), 1, partition(shifted, (8, 64)))


def test_output_after_an_input_is_compared_as_well(refusal, kernel, memory):
    array = memory.array((64,))
    message, _ = refusal(kernel, array, 1, partition(array, (8,)))
    assert message.startswith("argument 'z' is written, but shares memory with argument 'y'")


def test_disjoint_column_slices_of_one_buffer_are_launched(driver, kernel, memory):
    left, right = (memory.array((100, 64), strides=(512, 4)) for _ in range(2))
    right.pointer = left.pointer + 256
    kernel(partition(left, (8, 64)), right, 1)
    assert driver.launches == 1


def test_overlapping_inputs_are_launched(driver, kernel, memory):
    x = memory.array((64,))
    kernel(partition(memory.array((64,)), (8,)), x, x)
    assert driver.launches == 1


@pytest.mark.parametrize("strides", [(0, 4), (4, 4), (8, 4), (0, 0), (-4, 4)])
def test_self_overlapping_output_is_refused(refusal, kernel, memory, strides):
    array = memory.array((64, 4), strides=strides)
    elements = tuple(step // 4 for step in strides)
    message, _ = refusal(kernel, partition(array, (8, 4)), 1, 1)
    assert message == (
        f"argument 'y' is written, but its own elements overlap: shape (64, 4), strides {elements}"
    )


@pytest.mark.parametrize("strides", [(-16, 4), (4, 256), (-4, -256), (32, 8)])
def test_strided_output_without_overlap_is_launched(driver, kernel, memory, strides):
    array = memory.array((64, 4), offset=1 << 16, strides=strides)
    kernel(partition(array, (8, 4)), 1, 1)
    assert driver.launches == 1


def test_zero_and_negative_strides_of_inputs_are_launched(driver, kernel, memory):
    kernel(
        partition(memory.array((4,)), (4,)),
        memory.array((64, 64), strides=(0, 4)),
        memory.array((64,), offset=252, strides=(-4,)),
    )
    assert driver.launches == 1


def test_accumulate_is_a_write(refusal, kernel, memory):
    array = memory.array((64,))
    y = partition(memory.array((8,)), (8,))
    message, _ = refusal(kernel, y, accumulate(array), array)
    assert message.startswith("argument 'x' is written, but shares memory with argument 'z'")
    message, _ = refusal(kernel, y, accumulate(array), accumulate(array))
    assert message.startswith("argument 'x' is written, but shares memory with argument 'z'")


def test_unchecked_may_overlap_writes_but_not_reads(driver, kernel_class, refusal, memory):
    array = memory.array((64,))
    kernel = kernel_class("y", "x", "z")
    message, _ = refusal(kernel, unchecked(array), array, 1, grid=1)
    assert message.startswith("argument 'y' is written, but shares memory with argument 'x'")
    message, _ = refusal(kernel, array, unchecked(array), 1, grid=1)
    assert message.startswith("argument 'x' is written, but shares memory with argument 'y'")
    kernel(unchecked(array), unchecked(array), partition(array, (8,)))
    kernel(unchecked(memory.array((4, 4), strides=(0, 4))), 1, 1, grid=1)
    assert driver.launches == 2


def test_empty_arrays_overlap_nothing(driver, kernel, memory):
    y = memory.array((64,))
    x = memory.array((0, 64))
    x.pointer = y.pointer
    kernel(partition(y, (8,)), x, 1)
    assert driver.launches == 1


def test_read_only_output_is_refused(refusal, kernel, memory):
    y = partition(memory.array((64,), read_only=True), (8,))
    message, _ = refusal(kernel, y, 1, 1)
    assert message == "argument 'y' is a read-only array, expected a writable one"


def test_read_only_input_is_launched(driver, kernel, memory):
    kernel(partition(memory.array((4,)), (4,)), memory.array((4,), read_only=True), 1)
    assert driver.launches == 1


def test_arrays_on_two_gpus_are_refused(refusal, kernel, memory):
    y = partition(memory.array((64,), device=1), (8,))
    assert refusal(kernel, y, memory.array((64,)), 1) == (
        "arguments are on different devices: 'y' is in cuda:1, 'x' is in cuda:0",
        "copy one of them to the other's device",
    )


def test_numpy_array_beside_a_gpu_array_is_refused(refusal, kernel, memory):
    import numpy as np

    y = partition(memory.array((64,)), (8,))
    assert refusal(kernel, y, 1, np.zeros(64, np.float32)) == (
        "arguments are on different devices: 'y' is in cuda:0, 'z' is in host memory",
        "move 'z' to the GPU, or all arguments to the host",
    )


def test_launch_without_an_array_is_refused(refusal, kernel):
    message, _ = refusal(kernel, 1, 2, 3, grid=1)
    assert message == (
        "kernel was launched without an array, expected at least one: the arrays decide where it "
        "runs"
    )


def test_launch_without_partition_and_grid_is_refused(refusal, kernel, memory):
    assert refusal(kernel, memory.array((4,)), 1, 1) == (
        "kernel was launched without a partition and without grid=, expected one of them",
        "wrap the output in tl.partition(array, tile_shape)",
    )


def test_grid_beside_a_partition_is_refused(refusal, kernel, memory):
    message, _ = refusal(kernel, partition(memory.array((4,)), (4,)), 1, 1, grid=4)
    assert message == ("grid= was given to a launch with a partition, whose tile grid is the grid")


@pytest.mark.parametrize(
    "grid", [(), (1, 2, 3, 4), (-1,), (2**31,), (1, 65536), (1, 1, 70000), "a"]
)
def test_bad_grid_is_refused(refusal, kernel, memory, grid):
    message, _ = refusal(kernel, unchecked(memory.array((4,))), 1, 1, grid=grid)
    assert message == (
        f"grid= is {grid!r}, expected one to three integers: at most 2147483647, 65535 and 65535"
    )


def test_explicit_grid_of_zero_launches_nothing(driver, kernel, memory):
    kernel(unchecked(memory.array((4,))), 1, 1, grid=(4, 0))
    assert driver.launches == 0


def test_too_many_tiles_are_refused(refusal, kernel, memory):
    array = memory.array((1,))
    array.shape = (2**16, 2**15)
    array.strides = (2**17, 4)
    assert refusal(kernel, partition(array, (1, 1)), 1, 1) == (
        "the tile grid (65536, 32768) has 2147483648 programs, expected at most 2147483647",
        "use larger tiles",
    )
    kernel(partition(array, (1, 2)), 1, 1)


def test_tile_count_that_overflows_is_refused(refusal, kernel, memory):
    array = memory.array((1,))
    array.shape, array.strides = (2**30, 2**30, 2**30), (2**32, 4, 0)
    message, _ = refusal(kernel, partition(array, (1, 1, 1)), 1, 1)
    assert message.endswith("has 9223372036854775807 programs, expected at most 2147483647")


def test_description_without_memory_cannot_be_launched(refusal, kernel):
    assert refusal(kernel, partition(ArraySpec((8,), "float32"), (4,)), 1, 1) == (
        "argument 'y' is a description without memory, expected an array",
        "descriptions are for compiling: kernel.compile(...)",
    )
