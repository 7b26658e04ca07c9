"""What a launch whose CTAs share tiles through global memory allocates and passes."""

from __future__ import annotations

import itertools
import json

import pytest
from recording_driver import plan_of

from tilec._runtime import Variant, partition
from tilec.diagnostics import DriverError

BYTES, PARTS = 4096, 4
GRID = {"rule": "tiles", "arg": 0, "tile": [1, 8], "ctas_per_tile": PARTS}
PLAN = {"grid": GRID, "workspace": {"bytes": BYTES, "counters": 1}}
OWN = 3  # parameters of a partition of two dimensions whose last stride is 1


@pytest.fixture
def kernel(driver, kernel_class):
    driver.library.fake_set_parameter_count(OWN + 3)
    return kernel_class("y", **PLAN)


@pytest.fixture
def launch(kernel, memory):
    def run(tiles, **more):
        kernel(partition(memory.array((tiles, 8), **more), (1, 8)))

    return run


def passed(driver):
    """Where the parts start, and where the counters do."""
    return driver.parameters(OWN + 3)[OWN + 1 :]


def test_first_launch_allocates_zeroes_and_passes_it(driver, launch):
    launch(10, stream=7)
    assert list(driver.last.grid) == [10 * PARTS, 1, 1]
    address = driver.table_fact("address")
    assert passed(driver) == [address + 256, address]
    assert driver.table_fact("bytes") == 256 + 10 * BYTES
    assert [driver.table_fact(f"zeroed{what}") for what in ("", "_bytes", "_on")] == [
        address,
        256,
        7,
    ]
    assert driver.last.stream == 7


def test_later_launches_of_a_stream_use_it_again(driver, launch):
    launch(10)
    first = passed(driver)
    for tiles in (10, 3, 1):
        launch(tiles)
        assert passed(driver) == first
    assert driver.counter("allocations") == driver.counter("memsets") == 1
    assert driver.counter("frees") == 0


def test_more_tiles_take_new_memory_and_free_the_old_behind_the_stream(driver, launch):
    launch(10, stream=7)
    old = passed(driver)[1]
    launch(11, stream=7)
    assert passed(driver)[1] != old
    assert driver.table_fact("freed") == old and driver.table_fact("freed_on") == 7
    assert driver.table_fact("bytes") == 256 + 11 * BYTES
    assert driver.counter("allocations") == driver.counter("memsets") == 2
    launch(100, stream=7)
    assert driver.table_fact("bytes") == 512 + 100 * BYTES
    assert driver.table_fact("zeroed_bytes") == 512


def test_kernels_of_a_stream_share_it(driver, launch, memory, kernel_class):
    launch(10)
    first = passed(driver)
    other = kernel_class("y", grid=GRID, workspace={"bytes": 2 * BYTES, "counters": 1})
    other(partition(memory.array((5, 8)), (1, 8)))
    assert passed(driver) == first
    assert driver.counter("allocations") == 1


def test_streams_and_devices_never_share_it(driver, launch):
    places = {}
    for device, stream in itertools.product((0, 1), (None, 7, 9)):
        launch(4, device=device, stream=stream)
        places[device, stream] = passed(driver)[0]
    assert len(set(places.values())) == len(places)
    for (device, stream), place in places.items():
        launch(4, device=device, stream=stream)
        assert passed(driver)[0] == place


def test_a_new_stream_at_the_handle_of_an_old_one_has_its_own(driver, launch):
    launch(4, stream=7)
    old = passed(driver)[0]
    driver.library.fake_reuse_streams()
    launch(4, stream=7)
    assert passed(driver)[0] != old
    assert driver.counter("frees") == 0


def test_beyond_64_streams_memory_is_freed_behind_each_launch(driver, launch):
    for stream in range(100, 164):
        launch(4, stream=stream)
    assert (driver.counter("allocations"), driver.counter("frees")) == (64, 0)
    for _ in range(2):
        launch(4, stream=200)
        assert driver.table_fact("freed") == passed(driver)[1]
        assert driver.table_fact("freed_on") == 200
    assert (driver.counter("allocations"), driver.counter("frees")) == (66, 2)
    launch(4, stream=100)
    assert driver.counter("allocations") == 66


def test_a_capture_gets_memory_of_its_graph(driver, launch):
    launch(4, stream=7)
    own = passed(driver)
    driver.library.fake_set_capturing(1)
    captured = []
    for _ in range(2):
        launch(4, stream=7)
        captured.append(passed(driver))
        assert driver.table_fact("zeroed") == driver.table_fact("freed") == captured[-1][1]
    driver.library.fake_set_capturing(0)
    launch(4, stream=7)
    assert passed(driver) == own
    assert own not in captured and captured[0] != captured[1]
    assert (driver.counter("allocations"), driver.counter("frees")) == (3, 2)


def test_failed_launch_keeps_the_memory_and_is_told_as_ever(driver, launch):
    driver.library.fake_set_launch_result(1)
    with pytest.raises(DriverError, match=r"^cuLaunchKernel failed with CUDA_ERROR_INVALID_VALUE"):
        launch(4)
    driver.library.fake_set_launch_result(0)
    launch(4)
    assert driver.counter("allocations") == 1


def test_memory_that_cannot_be_had_is_told_and_asked_for_again(driver, launch):
    launch(4)
    driver.library.fake_set_alloc_result(2)
    with pytest.raises(
        DriverError, match=r"^cuMemAllocFromPoolAsync failed .*\n?.*a launch of kernel"
    ):
        launch(8)
    driver.library.fake_set_alloc_result(0)
    launch(4)
    assert driver.counter("allocations") == 2 and driver.counter("frees") == 1


def test_driver_without_ids_of_streams_is_refused_by_name(driver, launch):
    driver.library.fake_hide(b"cuStreamGetId")
    with pytest.raises(DriverError, match=r"lacks cuStreamGetId, which CUDA 12\.0 introduced"):
        launch(4)


def test_kernel_without_workspace_asks_the_driver_nothing(driver, memory, kernel_class):
    kernel = kernel_class("y", grid=GRID)
    kernel(partition(memory.array((4, 8)), (1, 8)))
    assert driver.counter("allocations") == driver.counter("pools") == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workspace": {"bytes": 24, "counters": 1}}, "'bytes' of 'workspace' is not a multiple"),
        ({"workspace": {"bytes": 0, "counters": 1}}, "'bytes' is out of range"),
        ({"workspace": {"bytes": 16, "counters": 0}}, "'counters' is out of range"),
        ({"workspace": {"bytes": 16}}, "'counters' is missing"),
        ({"grid": {"rule": "tiles"}}, "'workspace' needs 'ctas_per_tile' of 2 or more"),
    ],
)
def test_malformed_workspace_is_refused(change, message):
    plan = {**plan_of([]), **PLAN, **change}
    with pytest.raises(ValueError, match=f"malformed launch plan: {message}"):
        Variant(b"cubin", json.dumps(plan))
