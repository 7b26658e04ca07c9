"""Stream objects of the libraries, as handles."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from tilec.arrays.streams import handle_of
from tilec.diagnostics import LaunchError


class Protocol:
    def __init__(self, version: int = 0) -> None:
        self.version = version

    def __cuda_stream__(self) -> tuple[int, int]:
        return self.version, 5


class Number:
    def __int__(self) -> int:
        return 9


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (Protocol(), 5),
        (SimpleNamespace(cuda_stream=6), 6),
        (SimpleNamespace(ptr=7), 7),
        (SimpleNamespace(handle=ctypes.c_void_p(8)), 8),
        (SimpleNamespace(handle=SimpleNamespace(value=8)), 8),
        (SimpleNamespace(handle=ctypes.c_void_p(None)), 0),
        (Number(), 9),
    ],
    ids=["protocol", "torch", "cupy", "numba", "numba value", "numba default", "int"],
)
def test_stream_is_its_handle(stream, handle):
    assert handle_of(stream) == handle


def test_protocol_of_another_version_is_refused():
    with pytest.raises(LaunchError) as error:
        handle_of(Protocol(1))
    assert error.value.message == ("stream= has a __cuda_stream__ of version 1, expected version 0")


@pytest.mark.parametrize("stream", [True, "0", 1.0, object()])
def test_anything_else_is_refused(stream):
    with pytest.raises(LaunchError) as error:
        handle_of(stream)
    assert error.value.message == (
        f"stream= is {stream!r}, expected an integer handle, a torch or CuPy stream, or an object "
        "with __cuda_stream__"
    )
