"""Launches with tl.AUTO: what is asked of Python, what is remembered, what is refused."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from recording_driver import PlannedKernel, plan_of

from tilec import _runtime
from tilec._runtime import AUTO, partition
from tilec.diagnostics import LaunchError


class AutoKernel(PlannedKernel):
    """Plans half of the shape, at most 64, and keeps what it was asked."""

    def __init__(self, *parameters):
        super().__init__(*parameters)
        self.plans = []
        self.decisions = "decided"

    def _plan(self, specs, shapes, device):
        self.plans.append((specs, shapes, device))
        return tuple(max(1, min(extent // 2, 64)) for extent in shapes[0]), self.decisions

    def _resolve(self, specs, device, decisions=None):
        self.misses.append((specs, device, decisions))
        if device is None:
            return lambda arguments, grid: self.host_calls.append((arguments, grid)), self.guards
        return _runtime.Variant(self.image, json.dumps(plan_of(specs)), b""), self.guards


def tiles_of(kernel):
    return [specs[0][-1] for specs, *_ in kernel.misses]


def test_auto_is_one_object_that_explains_itself():
    assert repr(AUTO) == "tl.AUTO"
    assert copy.deepcopy(AUTO) is AUTO
    assert pickle.loads(pickle.dumps(AUTO)) is AUTO
    assert "tl.partition(y, tl.AUTO)" in type(AUTO).__doc__
    with pytest.raises(TypeError):
        type(AUTO)()


def test_partition_by_auto_shows_it(memory):
    marker = partition(memory.array((4, 4)), AUTO)
    assert marker.tile_shape is AUTO
    assert repr(marker) == "Partition(<DeviceArray>, tl.AUTO)"


def test_plan_gets_specifications_and_shapes_and_its_tile_is_the_grid(driver, memory):
    kernel = AutoKernel("y", "s", "x")
    kernel(partition(memory.array((256, 100)), AUTO), 3, memory.array((7,)))
    ((specs, shapes, device),) = kernel.plans
    assert specs[0][-1] == "auto"
    assert specs[2][-1] is None
    assert shapes == ((256, 100), (7,))
    assert device == 0
    ((resolved, _, decisions),) = kernel.misses
    assert resolved[0][-1] == (64, 50)
    assert resolved[1:] == specs[1:]
    assert decisions == "decided"
    assert list(driver.last.grid) == [4 * 2, 1, 1]


def test_second_launch_of_the_same_shapes_does_not_reach_python(driver, memory):
    kernel = AutoKernel("y", "x")
    for _ in range(3):
        kernel(partition(memory.array((256, 64)), AUTO), memory.array((32, 32)))
        assert list(driver.last.grid) == [4 * 2, 1, 1]
    assert (len(kernel.plans), len(kernel.misses), driver.launches) == (1, 1, 3)


def test_shapes_of_one_plan_share_a_variant(driver, memory):
    kernel = AutoKernel("y")
    for rows in (256, 512, 768, 256):
        kernel(partition(memory.array((rows, 256)), AUTO))
        assert driver.last.grid[0] == rows // 64 * 4
    assert (len(kernel.plans), len(kernel.misses)) == (3, 1)
    assert driver.counter("loads") == 1


def test_shapes_of_arrays_that_are_read_are_planned_for_too(driver, memory):
    kernel = AutoKernel("y", "x")
    for columns in (32, 64):
        kernel(partition(memory.array((64, 64)), AUTO), memory.array((64, columns)))
    assert (len(kernel.plans), len(kernel.misses)) == (2, 1)


def test_other_decisions_or_another_tile_make_another_variant(driver, memory):
    kernel = AutoKernel("y")
    kernel(partition(memory.array((256, 256)), AUTO))
    kernel.decisions = "otherwise"
    kernel(partition(memory.array((512, 256)), AUTO))
    kernel(partition(memory.array((64, 256)), AUTO))
    assert [miss[2] for miss in kernel.misses] == ["decided", "otherwise", "otherwise"]
    assert tiles_of(kernel) == [(64, 64), (64, 64), (32, 64)]


def test_a_tile_of_the_authors_is_not_mixed_up_with_a_plan(driver, memory):
    kernel = AutoKernel("y")
    y = memory.array((256, 256))
    kernel(partition(y, AUTO))
    kernel(partition(y, (64, 64)))
    assert [miss[2] for miss in kernel.misses] == ["decided", None]
    assert len(kernel.plans) == 1


def test_a_guard_that_fails_plans_again(driver, memory):
    kernel = AutoKernel("y")
    world = {"scale": 1}
    kernel.guards = [("dict", world, "scale", 1)]
    y = partition(memory.array((256, 256)), AUTO)
    kernel(y)
    world["scale"] = 2
    kernel.guards = [("dict", world, "scale", 2)]
    kernel(y)
    kernel(y)
    assert (len(kernel.plans), len(kernel.misses)) == (2, 2)
    world["scale"] = 1
    kernel(y)
    assert len(kernel.misses) == 2


def test_shapes_are_forgotten_but_never_their_variants(driver, memory):
    kernel = AutoKernel("y")
    for rows in range(16, 16 * 1200, 16):
        kernel(partition(memory.array((128 + rows, 256)), AUTO))
    planned = len(kernel.plans)
    kernel(partition(memory.array((128 + 16 * 1199, 256)), AUTO))  # among the last
    assert len(kernel.plans) == planned
    kernel(partition(memory.array((128 + 16, 256)), AUTO))  # long ago
    assert len(kernel.plans) == planned + 1
    assert len(kernel.misses) == 1


def test_shapes_in_use_are_kept(driver, memory):
    kernel = AutoKernel("y")
    often = partition(memory.array((128, 256)), AUTO)
    for rows in range(16, 16 * 1200, 16):
        kernel(often)
        kernel(partition(memory.array((128 + rows, 256)), AUTO))
    assert sum(shapes[0] == (128, 256) for _, shapes, _ in kernel.plans) == 1


def test_several_partitions_share_the_tile(driver, memory):
    kernel = AutoKernel("y", "pair")
    arrays = [memory.array((128, 64)) for _ in range(3)]
    y, *rest = (partition(array, AUTO) for array in arrays)
    kernel(y, tuple(rest))
    resolved = kernel.misses[0][0]
    assert resolved[0][-1] == (64, 32)
    assert [item[-1] for item in resolved[1][1]] == [(64, 32), (64, 32)]


def test_arrays_of_rank_zero_and_of_no_elements(driver, memory):
    kernel = AutoKernel("y")
    kernel(partition(memory.array(()), AUTO))
    assert (tiles_of(kernel), driver.launches) == ([()], 1)
    kernel(partition(memory.array((0, 8)), AUTO))
    assert (len(kernel.plans), driver.launches) == (1, 1)


def test_host_arrays_are_planned_for_as_well():
    import numpy as np

    kernel = AutoKernel("y")
    y = np.zeros((10, 6), np.float32)
    kernel(partition(y, AUTO))
    kernel(partition(y, AUTO))
    assert [device for *_, device in kernel.plans] == [None]
    assert tiles_of(kernel) == [(5, 3)]
    assert [grid for _, grid in kernel.host_calls] == [None, None]


def test_threads_plan_shapes_once(driver, memory):
    kernel = AutoKernel("y")
    markers = [partition(memory.array((256, 256)), AUTO) for _ in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(kernel, markers))
    assert (len(kernel.plans), len(kernel.misses), driver.launches) == (1, 1, 16)


def test_shapes_and_specifications_can_be_asked_for(driver, memory):
    kernel = AutoKernel("y", "x", "s")
    arguments = partition(memory.array((8, 4)), AUTO), memory.array((3,)), 1
    assert kernel._shapes(*arguments) == ((8, 4), (3,))
    assert kernel._specialize(*arguments)[0][0][-1] == "auto"


@pytest.mark.parametrize("entry", ["__call__", "_shapes"])
@pytest.mark.parametrize(
    ("tiles", "message", "hint"),
    [
        (
            [((8, 8), AUTO), ((8,), AUTO)],
            "partitions by tl.AUTO have different shapes: 'y' has (8, 8), 'z' has (8,)",
            "all share one tile; give partitions of different shapes their tile shapes",
        ),
        (
            [((8, 8), AUTO), ((8, 9), AUTO)],
            "partitions by tl.AUTO have different shapes: 'y' has (8, 8), 'z' has (8, 9)",
            "all share one tile; give partitions of different shapes their tile shapes",
        ),
        (
            [((8, 8), (4, 4)), ((8, 8), AUTO)],
            "partitions of one launch have one tile: 'z' has tl.AUTO, 'y' has (4, 4)",
            "use tl.AUTO for every partition, or for none",
        ),
    ],
)
def test_partitions_that_cannot_share_a_tile_are_refused(
    driver, memory, tiles, message, hint, entry
):
    kernel = AutoKernel("y", "z")
    with pytest.raises(LaunchError) as refusal:
        getattr(kernel, entry)(*(partition(memory.array(shape), tile) for shape, tile in tiles))
    assert (refusal.value.message, refusal.value.hint) == (message, hint)
    assert kernel.plans == []


def test_a_grid_beside_auto_is_refused(driver, memory):
    with pytest.raises(LaunchError, match=r"grid= was given to a launch with a partition"):
        AutoKernel("y")(partition(memory.array((8,)), AUTO), grid=4)


def test_auto_within_a_tile_shape_is_refused(memory):
    with pytest.raises(LaunchError) as refusal:
        partition(memory.array((8, 8)), (AUTO, 8))
    assert refusal.value.message == "tile_shape[0] must be an integer, found tl.AUTO"
    assert refusal.value.hint == (
        "tl.AUTO stands for a whole tile shape: tl.partition(array, tl.AUTO)"
    )


def test_overlapping_arrays_are_refused_before_anything_is_planned(driver, memory):
    kernel = AutoKernel("y", "x")
    y = memory.array((8, 8))
    with pytest.raises(LaunchError, match="'y' is written, but shares memory with argument 'x'"):
        kernel(partition(y, AUTO), y)
    assert kernel.plans == []


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (((4,), ""), TypeError, "_plan returned a tile of another rank"),
        (([4, 4], ""), TypeError, "_plan returned a tile of another rank"),
        (((4, 0), ""), ValueError, "_plan returned a tile with an extent below 1"),
    ],
)
def test_a_plan_that_is_none_is_refused(driver, memory, answer, error, message):
    kernel = AutoKernel("y")
    kernel._plan = lambda specs, shapes, device: answer
    with pytest.raises(error, match=message):
        kernel(partition(memory.array((8, 8)), AUTO))
