"""How tuning takes the time: the order of its steps, and what it asks of the driver."""

from __future__ import annotations

import contextlib
import ctypes

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec.diagnostics import DriverError
from tilec.jit import device as device_module
from tilec.jit import timer as timer_module
from tilec.jit.device import Memory
from tilec.jit.timer import DeviceTimer


class FakeDevice:
    """A GPU whose events say what the test wants; notes what is done."""

    def __init__(self, log, times_us):
        self.log = log
        self.times_us = times_us
        self.last = None

    @contextlib.contextmanager
    def current(self):
        yield

    @contextlib.contextmanager
    def stream(self):
        yield 77

    @contextlib.contextmanager
    def memory(self, shape, item_bytes=1):
        yield Memory(1 << 41, shape, item_bytes)

    @contextlib.contextmanager
    def events(self, count):
        yield list(range(count))

    def l2_bytes(self):
        return 1 << 20

    def synchronize(self):
        self.log.append("wait")

    def record(self, event, stream):
        assert stream == 77
        self.log.append("event")

    def elapsed_us(self, starts, ends):
        return [self.times_us[self.last]] * len(starts)


@pytest.fixture
def timed(monkeypatch):
    log = []
    monkeypatch.setattr(
        timer_module, "_largest", lambda part, read, stream: log.append(("flush", read.shape))
    )
    monkeypatch.setattr(
        timer_module,
        "_copy_bits",
        lambda part, x, stream: log.append(("copy", part.array, x)),
    )

    def run(times_us, written=()):
        device = FakeDevice(log, times_us)
        monkeypatch.setattr(timer_module, "Device", lambda ordinal: device)

        def launch(number):
            def start(stream):
                assert stream == 77
                device.last = number
                log.append(number)

            return start

        ticks = []
        found = DeviceTimer(0).medians_us(
            [launch(k) for k in range(len(times_us))], written, lambda: ticks.append(1)
        )
        assert len(ticks) == len(times_us)
        return found, log

    return run


def test_medians_come_back_in_order(timed):
    assert timed([300.0, 100.0, 200.0])[0] == [300.0, 100.0, 200.0]


def test_every_timed_launch_follows_a_flush_of_more_than_the_cache(timed):
    _, log = timed([20000.0])
    flush = ("flush", (256, 4096))  # four times the cache, in items of 4 bytes
    assert log == ["wait", 0, 0, *[flush, "event", 0, "event"] * 5, "wait", "wait"]


def test_launches_take_turns_until_they_took_long_enough(timed):
    _, log = timed([1000.0, 1100.0])
    order = [entry for entry in log if isinstance(entry, int)]
    assert order[14:34] == [0] * 5 + [1] * 5 + [0] * 5 + [1] * 5
    assert (order.count(0), order.count(1)) == (32, 32)


def test_hopeless_launches_are_not_looked_at_again(timed):
    _, log = timed([1000.0, 1600.0])
    order = [entry for entry in log if isinstance(entry, int)]
    assert (order.count(0), order.count(1)) == (32, 7)


def test_what_is_written_is_put_back(timed):
    y = np.zeros((4, 5), np.float32)
    _, log = timed([50000.0], [(y, 4)])
    copies = [entry for entry in log if isinstance(entry, tuple) and entry[0] == "copy"]
    (_, kept, original), (_, restored, copy) = copies
    assert original is y
    assert restored is y
    assert kept is copy
    assert (kept.shape, kept.__cuda_array_interface__["typestr"]) == ((4, 5), "<u4")
    kinds = [entry[0] if isinstance(entry, tuple) else entry for entry in log]
    assert kinds.index("copy") < kinds.index(0)
    assert "copy" in kinds[len(kinds) - kinds[::-1].index(0) :]


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        (np.float32, np.uint32),
        (np.float16, np.uint16),
        (ml_dtypes.bfloat16, np.uint16),
        (ml_dtypes.float8_e4m3fn, np.uint8),
        (np.float64, np.uint64),
        (np.int8, np.uint8),
        (np.bool_, np.uint8),
    ],
)
def test_copies_keep_every_bit(rng, dtype, bits):
    count = np.dtype(dtype).itemsize * 35
    raw = rng.integers(0, 2 if dtype is np.bool_ else 256, count, np.uint8)
    x = raw.view(dtype).reshape(5, 7)
    kept, back = np.zeros((5, 7), bits), np.zeros((5, 7), dtype)
    timer_module._copy_bits(tl.partition(kept, tl.AUTO), x)
    timer_module._copy_bits(tl.partition(back, tl.AUTO), kept)
    assert back.tobytes() == x.tobytes()


def test_flush_reads_everything():
    read = np.zeros((6, 4096), np.uint32)
    read[4, 4095] = 9
    result = np.zeros(6, np.uint32)
    timer_module._largest(tl.partition(result, (1,)), read)
    assert result.tolist() == [0, 0, 0, 0, 9, 0]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_kernels_of_the_timer_compile(target):
    words = tl.ArraySpec((512, 4096), tl.uint32)
    sums = tl.partition(tl.ArraySpec((512,), tl.uint32), (1,))
    assert timer_module._largest.compile(sums, words, target=target).resources.spill_bytes == 0
    halves, shorts = (tl.ArraySpec((512, 100), d) for d in (tl.bfloat16, tl.uint16))
    assert timer_module._copy_bits.compile(tl.partition(shorts, tl.AUTO), halves, target=target)


# -- the driver ------------------------------------------------------------------------------------


class RefusingDriver:
    """Answers every call but the names of errors with one status."""

    def __init__(self, status):
        self.status = status

    def __getattr__(self, name):
        return lambda *arguments: self.status

    def cuGetErrorName(self, status, text):
        ctypes.cast(text, ctypes.POINTER(ctypes.c_char_p))[0] = b"CUDA_ERROR_NO_DEVICE"
        return 0


def test_refusal_of_the_driver_is_an_error(monkeypatch):
    monkeypatch.setattr(device_module, "_driver", lambda: RefusingDriver(100))
    with pytest.raises(DriverError) as error:
        device_module.Device(0)
    assert error.value.message == "cuInit failed: CUDA_ERROR_NO_DEVICE"


def test_missing_driver_is_an_error(monkeypatch):
    monkeypatch.setattr(device_module, "_LIBRARY", "libno-such-driver.so")
    device_module._driver.cache_clear()
    with pytest.raises(DriverError, match=r"there is no CUDA driver: libno-such-driver\.so"):
        device_module.Device(0)
    device_module._driver.cache_clear()
