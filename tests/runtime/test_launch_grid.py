"""How many CTAs a launch has when its plan asks for others than one a program."""

from __future__ import annotations

from typing import Any

import pytest

from tilec._runtime import partition, unchecked
from tilec.diagnostics import DriverError, LaunchError

MULTIPROCESSORS = 132  # of the recording driver


def tiles(**more: Any) -> dict[str, Any]:
    return {"rule": "tiles", "arg": 0, "tile": [1, 8], **more}


@pytest.mark.parametrize(
    ("rows", "per_multiprocessor", "ctas"),
    [(7, 1, 7), (132, 1, 132), (133, 1, 132), (1000, 1, 132), (1000, 3, 396)],
)
def test_persistent_grid_is_what_runs_at_once(
    driver, memory, kernel_class, rows, per_multiprocessor, ctas
):
    driver.library.fake_set_resident(per_multiprocessor)
    kernel = kernel_class("y", grid=tiles(persistent=True), threads=384, shared_bytes=200_000)
    kernel(partition(memory.array((rows, 8)), (1, 8)))
    assert list(driver.last.grid) == [ctas, 1, 1]
    assert driver.counter("occupancy_threads") == 384
    assert driver.counter("occupancy_shared_bytes") == 200_000


def test_occupancy_is_asked_once_per_variant_and_device(driver, memory, kernel_class):
    kernel = kernel_class("y", grid=tiles(persistent=True))
    for _ in range(3):
        for device in (0, 1):
            kernel(partition(memory.array((1000, 8), device=device), (1, 8)))
            assert driver.last.grid[0] == MULTIPROCESSORS
    assert driver.counter("occupancy_queries") == 2


def test_grid_that_is_not_persistent_asks_nothing(driver, memory, kernel_class):
    kernel = kernel_class("y", grid=tiles(persistent=False))
    kernel(partition(memory.array((1000, 8)), (1, 8)))
    assert driver.last.grid[0] == 1000
    assert driver.counter("occupancy_queries") == 0


def test_persistent_clusters_fill_the_device_with_whole_clusters(driver, memory, kernel_class):
    driver.library.fake_set_resident(61)
    grid = tiles(persistent=True, cluster_tiles=[2, 1])
    kernel = kernel_class("y", grid=grid, cluster=[2, 1, 1], shared_bytes=100_000)
    for rows, ctas in ((1, 2), (7, 8), (121, 122), (1000, 122)):
        kernel(partition(memory.array((rows, 8)), (1, 8)))
        assert driver.last.grid[0] == ctas
    assert driver.counter("occupancy_queries") == len(kernel.misses) == 2  # 1000 is divisible by 8
    assert driver.counter("occupancy_cluster") == 2
    assert driver.counter("occupancy_threads") == 128
    assert driver.counter("occupancy_shared_bytes") == 100_000
    assert driver.last.attribute_count == 1
    assert list(driver.last.cluster) == [2, 1, 1]


@pytest.mark.parametrize(
    ("shape", "multiples", "ctas"),
    [((5, 24), [1, 1], 15), ((5, 24), [2, 1], 18), ((5, 24), [2, 4], 24), ((4, 16), [2, 2], 8)],
)
def test_tile_counts_are_rounded_up_to_cluster_tiles(
    driver, memory, kernel_class, shape, multiples, ctas
):
    kernel = kernel_class("y", grid=tiles(cluster_tiles=multiples))
    kernel(partition(memory.array(shape), (1, 8)))
    assert list(driver.last.grid) == [ctas, 1, 1]


def test_cluster_tiles_are_those_of_the_named_argument(driver, memory, kernel_class):
    kernel = kernel_class("x", "y", grid=tiles(cluster_tiles=[2]) | {"arg": 1})
    kernel(memory.array((3, 3)), partition(memory.array((5,)), (1,)))
    assert driver.last.grid[0] == 6


@pytest.mark.parametrize("shape", [(0, 8), (8, 0)])
def test_persistent_grid_without_tiles_launches_nothing(driver, memory, kernel_class, shape):
    grid = tiles(persistent=True, cluster_tiles=[2, 1])
    kernel_class("y", grid=grid)(partition(memory.array(shape), (1, 8)))
    assert driver.launches == 0


def test_rounded_grid_beyond_the_limit_is_refused(driver, memory, kernel_class):
    kernel = kernel_class("y", grid=tiles(cluster_tiles=[1, 2**30]))
    kernel(partition(memory.array((1, 8), "|u1"), (1, 8)))
    assert driver.last.grid[0] == 2**30
    with pytest.raises(LaunchError) as error:
        kernel(partition(memory.array((2, 8), "|u1"), (1, 8)))
    assert error.value.message == (
        "the tile grid (2, 1), rounded up to multiples of (1, 1073741824), has too many programs, "
        "expected at most 2147483647"
    )


def test_tiles_beyond_the_limit_are_refused_in_a_persistent_launch_too(
    driver, memory, kernel_class
):
    kernel = kernel_class("y", grid=tiles(persistent=True))
    with pytest.raises(LaunchError, match=r"has 2147483648 programs, expected at most 2147483647"):
        kernel(partition(memory.array((2**31, 1), "|u1"), (1, 1)))


def test_kernel_that_fits_nowhere_is_refused(driver, memory, kernel_class):
    driver.library.fake_set_resident(0)
    y = partition(memory.array((4, 8)), (1, 8))
    with pytest.raises(LaunchError) as error:
        kernel_class("y", grid=tiles(persistent=True), threads=1024)(y)
    assert error.value.message == (
        "kernel does not fit on device 0: it holds no CTA of 1024 threads and 0 bytes of shared "
        "memory"
    )
    with pytest.raises(LaunchError) as error:
        kernel_class("y", grid=tiles(persistent=True), cluster=[4, 1, 1])(y)
    assert error.value.message == (
        "kernel does not fit on device 0: it holds no cluster of (4, 1, 1) CTAs of 128 threads "
        "and 0 bytes of shared memory"
    )


def test_driver_without_cluster_occupancy_is_refused_when_it_is_needed(
    driver, memory, kernel_class
):
    driver.library.fake_hide(b"cuOccupancyMaxActiveClusters")
    y = partition(memory.array((4, 8)), (1, 8))
    kernel_class("y", grid=tiles(persistent=True))(y)
    with pytest.raises(DriverError) as error:
        kernel_class("y", grid=tiles(persistent=True), cluster=[2, 1, 1])(y)
    assert error.value.message == (
        "the NVIDIA driver lacks cuOccupancyMaxActiveClusters, which CUDA 11.7 introduced"
    )


def test_grid_of_broken_clusters_is_refused(driver, memory, kernel_class):
    kernel = kernel_class("y", cluster=[2, 1, 1])
    with pytest.raises(LaunchError) as error:
        kernel(partition(memory.array((3,)), (1,)))
    assert error.value.message == (
        "kernel runs in clusters of (2, 1, 1) CTAs, expected a grid of whole clusters, found "
        "(3, 1, 1)"
    )
    kernel = kernel_class("y", cluster=[1, 2, 1])
    kernel(unchecked(memory.array((3,))), grid=(3, 4))
    with pytest.raises(LaunchError, match=r"found \(4, 3, 1\)"):
        kernel(unchecked(memory.array((3,))), grid=(4, 3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": tiles(persistent=1)}, "'persistent' is not true or false"),
        ({"grid": tiles(cluster_tiles=[0, 1])}, "'cluster_tiles' is out of range"),
        ({"grid": tiles(cluster_tiles=2)}, "'cluster_tiles' is not a list of 1 to 8 numbers"),
        (
            {"grid": {"rule": "tiles", "cluster_tiles": [1, 1]}},
            "'arg' is missing",
        ),
        ({"grid": tiles(cluster_tiles=[2])}, "it disagrees with argument 0"),
        ({"grid": tiles(cluster_tiles=[2, 1]) | {"arg": 1}}, "it disagrees with argument 1"),
        ({"grid": tiles(cluster_tiles=[2, 1]) | {"arg": 2}}, "it refers to argument 2 of 2"),
        (
            {"grid": {"rule": "explicit", "persistent": True}},
            "'persistent', 'cluster_tiles' and 'ctas_per_tile' need the grid rule 'tiles'",
        ),
        ({"cluster": [2, 0, 1]}, "'cluster' is out of range"),
        ({"cluster": [2, 1]}, "'cluster' is not three numbers"),
    ],
)
def test_malformed_grid_is_refused(driver, memory, kernel_class, change, message):
    y, x = partition(memory.array((8, 8)), (1, 8)), memory.array((8, 8))
    with pytest.raises(ValueError) as error:
        kernel_class("y", "x", **change)(y, x)
    assert str(error.value) == f"malformed launch plan: {message}"
    assert driver.launches == 0
