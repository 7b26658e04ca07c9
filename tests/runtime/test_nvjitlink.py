"""Assembling PTX in this process."""

from __future__ import annotations

import importlib.util
import threading
from pathlib import Path

import pytest

from tilec import _runtime

PTX = b""".version 8.0
.target sm_90a
.address_size 64
.visible .entry nothing(.param .u64 p) { ret; }
"""


@pytest.fixture(scope="module")
def library() -> str:
    wheel = importlib.util.find_spec("nvidia.cu13")
    assert wheel and wheel.submodule_search_locations
    place = Path(wheel.submodule_search_locations[0], "lib")
    return str(next(place.glob("libnvJitLink.so.*")))


def test_ptx_becomes_an_elf_with_a_log(library):
    cubin, log = _runtime.nvjitlink_link(PTX, ["-arch=sm_90a", "-verbose"], library)
    assert cubin[:4] == b"\x7fELF"
    assert "nothing" in log
    assert _runtime.nvjitlink_version(library) >= (13, 0)


def test_bad_ptx_raises_with_the_log(library):
    with pytest.raises(_runtime.NvJitLinkError, match="ptxas application ptx input, line 4"):
        _runtime.nvjitlink_link(PTX.replace(b"ret;", b"return;"), ["-arch=sm_90a"], library)


def test_bad_option_raises(library):
    with pytest.raises(_runtime.NvJitLinkError):
        _runtime.nvjitlink_link(PTX, ["-arch=sm_90a", "-no-such-option"], library)


def test_threads_assemble_at_once(library):
    cubins: list[bytes] = []

    def work() -> None:
        cubins.append(_runtime.nvjitlink_link(PTX, ["-arch=sm_90a"], library)[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cubins) == 4
