"""Finding the driver, and what is said when there is none to be had."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tilec import _runtime
from tilec._runtime import partition
from tilec.diagnostics import DriverError


def test_missing_driver_says_so(tmp_path):
    _runtime.replace_driver(str(tmp_path / "libcuda.so.1"))
    try:
        with pytest.raises(DriverError) as error:
            _runtime.device_count()
    finally:
        _runtime.replace_driver("")
    assert error.value.message.startswith(
        f"no NVIDIA driver: cannot load {tmp_path}/libcuda.so.1 ("
    )
    assert error.value.hint == (
        "numpy arrays run on the CPU without a driver; `tilec doctor` shows what is missing"
    )


def test_driver_that_is_too_old_says_so(driver):
    driver.library.fake_set_version(11080)
    with pytest.raises(DriverError) as error:
        _runtime.device_count()
    assert error.value.message == (
        "the NVIDIA driver is too old: it supports CUDA 11.8, tilec needs 12.0"
    )
    assert error.value.hint == "update the driver to release 525 or later"


def test_machine_without_visible_gpu_says_so(driver):
    driver.library.fake_set_init_result(100)
    with pytest.raises(DriverError) as error:
        _runtime.device_count()
    assert error.value.message == "the CUDA driver cannot be initialised: CUDA_ERROR_NO_DEVICE"
    assert error.value.hint == "no GPU is visible; check CUDA_VISIBLE_DEVICES"


def test_failed_initialisation_is_tried_again(driver):
    driver.library.fake_set_init_result(100)
    with pytest.raises(DriverError):
        _runtime.device_count()
    driver.library.fake_set_init_result(0)
    assert _runtime.device_count() == 2


def test_device_properties_are_those_of_the_driver(driver):
    assert _runtime.driver_version() == 13000
    assert _runtime.device_properties(1) == {
        "name": "Fake GPU",
        "capability": (9, 0),
        "multiprocessors": 132,
        "memory_bytes": 2**37,
        "shared_bytes_per_block": 232448,
    }


def test_unknown_device_is_refused(driver):
    with pytest.raises(DriverError, match=r"cuDeviceGet failed .* looking for device 2"):
        _runtime.device_properties(2)


def test_child_forked_after_initialisation_is_refused(driver, memory, kernel_class):
    kernel = kernel_class("y")
    y = partition(memory.array((4,)), (4,))
    kernel(y)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # no assertion may leave this branch
        try:
            kernel(y)
            os.write(writing, b"launched")
        except DriverError as error:
            os.write(writing, error.message.encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    assert os.read(reading, 1000).decode() == (
        "the CUDA driver was initialised before this process was forked and cannot be used in the "
        "child"
    )
    kernel(y)  # the parent goes on
    assert driver.launches == 2


def test_child_forked_before_initialisation_launches(driver, memory, kernel_class):
    kernel = kernel_class("y")
    y = partition(memory.array((4,)), (4,))
    child = os.fork()
    if child == 0:
        try:
            kernel(y)
            os._exit(0 if driver.launches == 1 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_import_touches_no_driver():
    code = (
        "import tilec._runtime\n"
        "print(any('libcuda.so' in line for line in open('/proc/self/maps')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
