"""Kernels from decoration to launch: on the CPU executor, and on a driver that only records."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from recording_driver import plan_of

import tilec as tl
from tilec.diagnostics import LaunchError, TraceError
from tilec.jit import kernel as kernel_module
from tilec.jit.entry import Entry

SCALE = 2.0


@tl.kernel
def add(y, a, b):
    y.store(a.load_like(y) + b.load_like(y))


@tl.kernel
def scaled(y, x):
    y.store(x.load_like(y) * SCALE)


@tl.kernel
def filled(y, *, value: tl.Constant[float] = 1.0):
    y.store(tl.full(y.tile_shape, value, y.dtype))


@tl.kernel
def summed(y, pair, s):
    y.store(pair[0].load_like(y) + pair[1][0].load_like(y) * s)


def test_numpy_arrays_of_any_alignment_share_a_trace(monkeypatch):
    fresh = tl.kernel(scaled.function)
    buffer = np.ones(200, np.uint8)
    start = -buffer.ctypes.data % 128
    for offset in (0, 4, 8, 16, 64):
        x = buffer[start + offset : start + offset + 16].view(np.float32)
        fresh(tl.partition(ones(4), (4,)), x)
        monkeypatch.setattr(kernel_module, "CompileJob", None)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def test_numpy_arrays_run_on_the_cpu():
    y, a, b = ones(10, 7), ones(10, 7), np.arange(70, dtype=np.float32).reshape(10, 7)
    add(tl.partition(y, (4, 7)), a, b)
    assert (y == a + b).all()


def test_second_launch_does_not_trace_again(monkeypatch):
    y, x = ones(8), ones(8)
    scaled(tl.partition(y, (4,)), x)
    monkeypatch.setattr(kernel_module, "CompileJob", None)
    scaled(tl.partition(y, (4,)), x * 3)
    assert y.tolist() == [6] * 8


def test_global_that_changes_is_seen_and_the_old_variant_comes_back(monkeypatch):
    y, x = ones(4), ones(4)
    for scale in (3.0, 5.0, 3.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        scaled(tl.partition(y, (4,)), x)
        assert y.tolist() == [scale] * 4


def test_constant_takes_its_default_and_its_value():
    y = ones(4)
    filled(tl.partition(y, (4,)))
    assert y.tolist() == [1] * 4
    filled(tl.partition(y, (4,)), value=2.5)
    assert y.tolist() == [2.5] * 4


def test_nested_tuples_and_scalars_reach_the_kernel():
    y, a, b = ones(4), ones(4), ones(4)
    for s in (3, 2.5):
        summed(tl.partition(y, (4,)), (a, [b]), s)
        assert y.tolist() == [1 + s] * 4


def test_kernels_of_one_name_do_not_mix():
    def make(value):
        @tl.kernel
        def made(y):
            y.store(tl.full(y.tile_shape, value, y.dtype))

        return made

    first, second = make(1.0), make(2.0)
    for kernel, value in ((first, 1), (second, 2), (first, 1)):
        y = ones(4)
        kernel(tl.partition(y, (4,)))
        assert y.tolist() == [value] * 4


def test_constants_are_found_in_postponed_and_in_local_annotations():
    constant = tl.Constant

    def direct(y, k: tl.Constant[int], m: int, n: constant[SomethingForCheckers]):  # noqa: F821
        return constant

    kernel = tl.kernel(direct)
    specs, _ = kernel._specialize(tl.partition(ones(4), (4,)), 1, 2, 3)
    assert [spec[0] for spec in specs] == ["view", "constant", "scalar", "constant"]


def test_a_kernel_keeps_the_names_of_its_function():
    assert (add.__name__, add.name, add.__module__) == ("add", "add", __name__)
    assert add.__wrapped__ is add.function
    assert repr(add) == "<kernel add>"


def test_hints_are_kept():
    hinted = tl.kernel(num_warps=8, num_stages=3)(add.function)
    assert (hinted.options.num_warps, hinted.options.num_stages) == (8, 3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda *arrays: None, "a kernel's parameters must be named, found *arrays"),
        (lambda **arrays: None, "a kernel's parameters must be named, found **arrays"),
        (
            lambda y, grid: None,
            "a kernel's parameter must not be named 'grid', which is a keyword of launches",
        ),
        (print, "a kernel must be a plain function, found <built-in function print>"),
        (add, "a kernel must be a plain function, found <kernel add>"),
    ],
)
def test_function_that_cannot_be_a_kernel_is_refused(function, message):
    with pytest.raises(TraceError) as error:
        tl.kernel(function)
    assert error.value.message == message


def test_threads_racing_to_the_first_launch_trace_once(monkeypatch):
    traces: list[object] = []
    job = kernel_module.CompileJob

    class Counting(job):
        def trace(self):
            traces.append(self)
            return super().trace()

    monkeypatch.setattr(kernel_module, "CompileJob", Counting)
    fresh = tl.kernel(add.function)
    start = threading.Barrier(8)
    results: list[np.ndarray] = []

    def work() -> None:
        y = ones(16)
        start.wait()
        fresh(tl.partition(y, (4,)), ones(16), ones(16))
        results.append(y)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(traces) == 1
    assert [y.tolist() for y in results] == [[2] * 16] * 8


class PlannedCache:
    """Stands where the disk cache stands; its entries have a plan and no code."""

    def __init__(self) -> None:
        self.requests: list[object] = []

    def obtain(self, request, builder):
        self.requests.append(request)
        flat = [
            ("scalar", spec.dtype.short)
            if not hasattr(spec, "rank")
            else ("view", spec.dtype.short, spec.rank, spec.access, spec.unit_strides)
            for spec in request.signature.runtime()
        ]
        entry = Entry(json.dumps(plan_of(flat)), b"cubin", "// ptx", {})
        return SimpleNamespace(entry=entry, origin="compiled")


@pytest.fixture
def cache(monkeypatch) -> PlannedCache:
    planned = PlannedCache()
    monkeypatch.setattr(kernel_module, "disk_cache", lambda: planned)
    return planned


def test_device_arrays_ask_the_cache_once_per_specialization(driver, memory, cache):
    fresh = tl.kernel(num_warps=8)(add.function)
    for rows in (16, 32, 48):
        arrays = [memory.array((rows, 64)) for _ in range(3)]
        fresh(tl.partition(arrays[0], (16, 64)), *arrays[1:])
        assert driver.last.grid[0] == rows // 16
    assert len(cache.requests) == 1
    request = cache.requests[0]
    assert (request.function, request.name, request.target) == (add.function, "add", "sm_90a")
    assert request.options.num_warps == 8
    assert [spec.access for spec in request.signature.specs] == ["exclusive", "read", "read"]
    assert request.signature.specs[0].tile_shape == (16, 64)
    assert request.signature.specs[1].dtype is tl.float32


def test_device_and_host_arrays_have_variants_of_their_own(driver, memory, cache):
    fresh = tl.kernel(add.function)
    y = ones(4)
    fresh(tl.partition(y, (4,)), ones(4), ones(4))
    fresh(tl.partition(memory.array((4,)), (4,)), memory.array((4,)), memory.array((4,)))
    fresh(tl.partition(y, (4,)), ones(4), ones(4) * 2)
    assert y.tolist() == [3] * 4
    assert (len(cache.requests), driver.launches) == (1, 1)


def test_request_describes_a_launch_without_running_it():
    request = add.request(tl.partition(ones(4), (4,)), ones(4), ones(4), target="sm_80")
    assert (request.name, request.target) == ("add", "sm_80")
    assert request.signature.specs[0].tile_shape == (4,)


def test_compile_without_gpu_and_target_is_refused():
    with pytest.raises(LaunchError) as error:
        add.compile(tl.partition(ones(4), (4,)), ones(4), ones(4))
    assert error.value.message == (
        "add cannot be compiled: the arguments are not on a GPU and there is no target"
    )
    assert error.value.hint == 'name one: compile(..., target="sm_90a")'
