"""Launches without a GPU: see tests/support/recording_driver.py."""

from recording_driver import driver, fake_library, kernel_class, memory

__all__ = ["driver", "fake_library", "kernel_class", "memory"]
