"""Tuning, with a timer that says what the test wants and a driver that only records."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tilec as tl
from tilec.diagnostics import LaunchError
from tilec.jit import configurations as configurations_module
from tilec.jit import kernel as kernel_module
from tilec.jit import planning
from tilec.jit import tune as tune_module
from tilec.jit.cache import DiskCache
from tilec.jit.tune import TunedKernel
from tilec.kernels.matmul import matmul_kernel


@tl.kernel
def scaled(y, x, *, factor: tl.Constant[int] = 2, step: tl.Constant[int] = 8):
    y.store(x.load_like(y) * factor)


@tl.kernel
def picky(y, x, *, width: tl.Constant[int] = 0):
    tl.static_assert(y.tile_shape[0] <= 64, "at most 64 rows")
    y.store(x.load_like(y))


@tl.kernel
def in_pairs(pair, x, scale):
    pair[0].store(x.load_like(pair[0]) * scale)
    pair[1].store(x.load_like(pair[1]))


class FakeTimer:
    """Starts each launch once, and gives it the next of the times."""

    def __init__(self, driver):
        self.driver = driver
        self.times_us = []
        self.grids = []
        self.written = []
        self.measured = 0

    def medians_us(self, launches, written, tick):
        self.measured += 1
        self.written = list(written)
        self.grids = []
        for launch in launches:
            launch(0x5000)
            assert self.driver.last.stream == 0x5000
            self.grids.append(tuple(self.driver.last.grid))
            tick()
        return [self.times_us[k % len(self.times_us)] for k in range(len(launches))]


@pytest.fixture
def cache(monkeypatch, tmp_path):
    kept = DiskCache(tmp_path, 2**24)
    for module in (kernel_module, planning, tune_module):
        monkeypatch.setattr(module, "disk_cache", lambda: kept)
    return kept


@pytest.fixture
def timer(monkeypatch, driver, cache):
    fake = FakeTimer(driver)
    monkeypatch.setattr(tune_module, "timer_of", lambda device: fake)
    return fake


TILES = [{"tile": (16, 64)}, {"tile": (32, 64)}, {"tile": (64, 64)}]


def arrays(memory, rows=256, columns=64):
    return memory.array((rows, columns)), memory.array((rows, columns))


def launch(tuned, memory, rows=256, columns=64, **kwargs):
    y, x = arrays(memory, rows, columns)
    tuned(tl.partition(y, tl.AUTO), x, **kwargs)


# -- an author's configurations --------------------------------------------------------------------


def test_fastest_configuration_is_launched(driver, memory, timer, capsys):
    timer.times_us = [30.0, 10.0, 20.0]
    tuned = tl.tune(configs=TILES)(scaled)
    launch(tuned, memory)
    assert [grid[0] for grid in timer.grids] == [16, 8, 4]
    assert driver.last.grid[0] == 8
    assert driver.last.stream == 0
    assert capsys.readouterr().err == (
        "tuning scaled on Fake GPU: tile=(32, 64) takes 10.0 us, the best of 3\n"
    )


def test_second_launch_does_not_measure(driver, memory, timer):
    timer.times_us = [3.0, 2.0, 1.0]
    tuned = tl.tune(configs=TILES)(scaled)
    for _ in range(3):
        launch(tuned, memory)
        assert driver.last.grid[0] == 4
    assert (timer.measured, driver.launches) == (1, 6)


def test_winner_is_kept_for_other_processes(driver, memory, timer):
    timer.times_us = [1.0, 3.0, 2.0]
    launch(tl.tune(configs=TILES)(scaled), memory)
    again = tl.tune(configs=TILES)(scaled)
    launch(again, memory)
    assert (timer.measured, driver.last.grid[0]) == (1, 16)


def test_other_configurations_or_kernels_have_winners_of_their_own(memory, timer):
    timer.times_us = [1.0]
    launch(tl.tune(configs=TILES)(scaled), memory)
    launch(tl.tune(configs=TILES[:2])(scaled), memory)
    launch(tl.tune(configs=TILES)(tl.kernel(num_warps=8)(scaled.function)), memory)
    launch(tl.tune(configs=TILES)(picky), memory)
    assert timer.measured == 4


def test_shapes_of_one_bucket_share_a_winner(memory, timer):
    timer.times_us = [1.0, 2.0]
    tuned = tl.tune(configs=TILES)(scaled)
    for rows in (144, 160, 256):
        launch(tuned, memory, rows)
    assert timer.measured == 1
    launch(tuned, memory, 272)
    assert timer.measured == 2


def test_key_tells_launches_apart_by_exact_extents(memory, timer):
    timer.times_us = [1.0, 2.0]
    tuned = tl.tune(configs=TILES, key="x")(scaled)
    for rows in (144, 160, 144):
        launch(tuned, memory, rows)
    assert timer.measured == 2


def test_key_may_name_scalars(memory, timer):
    timer.times_us = [1.0]
    tuned = tl.tune(configs=[{"num_warps": 4}, {"num_warps": 8}], key=["scale"])(in_pairs)
    for scale in (1, 2, 1):
        pair = tuple(tl.partition(memory.array((64, 64)), (16, 64)) for _ in range(2))
        tuned(pair, memory.array((64, 64)), scale)
    assert timer.measured == 2
    assert [(a.shape, size) for a, size in timer.written] == [((64, 64), 4)] * 2


def test_constants_and_hints_are_tuned(driver, memory, timer):
    timer.times_us = [2.0, 1.0]
    tuned = tl.tune(configs=[{"num_warps": 4, "factor": 3}, {"num_warps": 8, "factor": 5}])(scaled)
    y, x = arrays(memory)
    tuned(tl.partition(y, (64, 64)), x)
    assert driver.last.block[0] == 256
    winner = tuned.tune(tl.partition(y, (64, 64)), x)
    assert (dict(winner.configuration.constants), winner.median_us) == ({"factor": 5}, 1.0)
    with pytest.raises(LaunchError) as error:
        tuned(tl.partition(y, (64, 64)), x, factor=7)
    assert error.value.message == "scaled: factor is tuned, a launch does not give it"


def test_candidates_that_do_not_compile_are_left_out(driver, memory, timer):
    timer.times_us = [1.0, 2.0]
    configs = [{"tile": (128, 64)}, {"tile": (64, 64)}, {"tile": (32, 64)}]
    launch(tl.tune(configs=configs)(picky), memory)
    assert [grid[0] for grid in timer.grids] == [4, 8]
    assert driver.last.grid[0] == 4


def test_error_of_the_first_candidate_when_none_compiles(memory, timer):
    with pytest.raises(tl.TraceError, match="at most 64 rows"):
        launch(tl.tune(configs=[{"tile": (128, 64)}, {"tile": (256, 64)}])(picky), memory)
    assert timer.measured == 0


def test_candidate_that_breaks_the_contract_is_left_out(memory, timer):
    demanding = tl.kernel(require="mma")(scaled.function)
    with pytest.raises(tl.CompileError, match="does not keep its contract"):
        launch(tl.tune(configs=TILES)(demanding), memory)


def test_launch_without_programs_is_not_measured(driver, memory, timer):
    tuned = tl.tune(configs=TILES)(scaled)
    launch(tuned, memory, 0)
    assert (timer.measured, driver.launches) == (0, 0)
    y, x = arrays(memory, 0)
    with pytest.raises(LaunchError) as error:
        tuned.tune(tl.partition(y, tl.AUTO), x)
    assert error.value.message == "scaled cannot be tuned: the launch has no programs"


def test_stream_of_the_launch_is_kept(driver, memory, timer):
    timer.times_us = [1.0]
    launch(tl.tune(configs=TILES)(scaled), memory, stream=0x7000)
    assert driver.last.stream == 0x7000


def test_damaged_winner_is_measured_again(memory, timer, cache):
    timer.times_us = [1.0]
    launch(tl.tune(configs=TILES)(scaled), memory)
    (file,) = cache.directory.glob("*.tuned")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.warns(tl.CacheWarning, match="tuned is damaged"):
        launch(tl.tune(configs=TILES)(scaled), memory)
    assert timer.measured == 2


def test_winner_of_no_configuration_is_measured_again():
    chosen = configurations_module.configurations_of("scaled", TILES, ())
    for text in ("{", "{}", '{"number": 7, "median_us": 1, "candidates": 3}'):
        assert tune_module._read(text, chosen) is None


# -- tl.AUTO ---------------------------------------------------------------------------------------


def product(memory, m=512, n=512, k=256):
    return (
        tl.partition(memory.array((m, n), "<f4"), tl.AUTO),
        memory.array((m, k), "<f2"),
        memory.array((k, n), "<f2"),
    )


def test_best_tiles_of_the_plan_are_measured(driver, memory, timer):
    timer.times_us = [4.0, 3.0, 1.0, 2.0]
    tuned = tl.tune(candidates=4)(matmul_kernel)
    c, a, b = product(memory)
    tuned(c, a, b)
    winner = tuned.tune(c, a, b)
    assert (winner.candidates, winner.median_us) == (4, 1.0)
    plan = matmul_kernel.explain(*product(memory), target="sm_90a")
    planned = matmul_kernel.planner.best(*planner_arguments(memory), count=4)
    assert winner.configuration.planned == planned[2]
    assert planned[0].tile == plan["tile"]
    assert json.loads(planned[0].decisions) == plan["decisions"]
    assert len(set(planned)) == 4
    again = tl.tune(candidates=4)(matmul_kernel)
    again(c, a, b)
    assert timer.measured == 1
    assert again.tune(c, a, b) == winner


def planner_arguments(memory):
    from tilec.compiler.target import Target
    from tilec.jit.specialize import signature_of

    specs, _ = matmul_kernel._specialize(*product(memory))
    shapes = matmul_kernel._shapes(*product(memory))
    return signature_of(specs), shapes, Target.parse("sm_90a"), 132


def test_kernel_tune_measures_and_returns_the_tuned_kernel(driver, memory, timer):
    timer.times_us = [2.0, 1.0]
    tuned = matmul_kernel.tune(*product(memory), candidates=2)
    assert isinstance(tuned, TunedKernel)
    assert repr(tuned) == "<tuned <kernel matmul_kernel>>"
    before = driver.launches
    tuned(*product(memory))
    assert (timer.measured, driver.launches) == (1, before + 1)


def test_kernel_itself_is_never_tuned(driver, memory, timer):
    timer.times_us = [2.0, 1.0]
    matmul_kernel.tune(*product(memory), candidates=2)
    matmul_kernel(*product(memory))
    assert timer.measured == 1


def test_elementwise_tiles_are_tuned_too(driver, memory, timer):
    timer.times_us = [1.0]
    launch(tl.tune(scaled), memory, 1000, 1000)
    assert timer.measured == 1


# -- without a GPU ---------------------------------------------------------------------------------


@pytest.mark.parametrize("configs", [None, [{"factor": 3}, {"factor": 4}]])
def test_numpy_arrays_run_the_first_candidate(configs):
    x, y = np.ones((20, 30), np.float32), np.zeros((20, 30), np.float32)
    tl.tune(configs=configs)(scaled)(tl.partition(y, tl.AUTO), x)
    assert (y == (2 if configs is None else 3)).all()


def test_tuning_without_a_gpu_is_refused():
    y, x = (tl.ArraySpec((64, 64), tl.float32) for _ in range(2))
    with pytest.raises(LaunchError) as error:
        tl.tune(scaled).tune(tl.partition(y, tl.AUTO), x)
    assert error.value.message == "scaled cannot be tuned: the arguments are not on a GPU"
    assert error.value.hint == 'a winner that is kept is found by device_name="NVIDIA H200", say'


def test_kept_winner_is_found_without_a_gpu(memory, timer):
    timer.times_us = [2.0, 1.0, 3.0]
    launch(tl.tune(configs=TILES)(scaled), memory)
    y, x = (tl.ArraySpec((256, 64), tl.float32) for _ in range(2))
    tuned = tl.tune(configs=TILES)(scaled)
    winner = tuned.tune(tl.partition(y, tl.AUTO), x, device_name="Fake GPU")
    assert winner.configuration.planned.tile == (32, 64)
    with pytest.raises(LaunchError) as error:
        tuned.tune(tl.partition(y, tl.AUTO), x, device_name="NVIDIA A100")
    assert error.value.message == (
        "scaled cannot be tuned: the arguments are not on a GPU, and no winner is kept for "
        "NVIDIA A100 and shapes like these"
    )


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"configs": []}, "there are no configurations to tune scaled over"),
        ({"configs": [{}, {"facto": 3}]},
         "configuration 1 of scaled has 'facto', expected some of factor, step, num_warps, "
         "num_stages, num_ctas, occupancy, tile"),
        ({"configs": [{"tile": 64}]},
         "tile in configuration 0 of scaled must be a tuple of positive integers, found 64"),
        ({"configs": [{"tile": (64, 0)}]},
         "tile in configuration 0 of scaled must be a tuple of positive integers, found (64, 0)"),
        ({"configs": [{"num_warps": {"sm_80": 4}}]},
         "configuration 0 of scaled has num_warps by target, expected one value"),
        ({"configs": [{"num_warps": 3}]},
         "num_warps must be 12 or a power of two from 1 to 32, found 3"),
        ({"key": ("x", "z")},
         "key must name parameters of scaled, found 'z', expected some of y, x, factor, step"),
        ({"candidates": 0}, "candidates must be a positive integer, found 0"),
    ],
)  # fmt: skip
def test_impossible_tuning_is_refused_when_decorating(keywords, message):
    with pytest.raises(LaunchError) as error:
        tl.tune(**keywords)(scaled)
    assert error.value.message == message


def test_only_kernels_are_tuned():
    def plain(y):
        del y

    with pytest.raises(LaunchError) as error:
        tl.tune(plain)
    assert error.value.message == f"tl.tune goes above @tl.kernel, found {plain!r}"
    assert error.value.hint == "write @tl.tune(...) in the line before @tl.kernel"


@pytest.mark.parametrize("configs", [None, TILES])
def test_tile_of_the_authors_cannot_be_tuned(configs):
    y, x = np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32)
    with pytest.raises(LaunchError) as error:
        tl.tune(configs=configs)(scaled)(tl.partition(y, (4, 4)), x)
    assert error.value.message == (
        "scaled is tuned over tiles, but no partition leaves its tile open"
    )
    assert error.value.hint == "launch it with tl.partition(y, tl.AUTO)"
