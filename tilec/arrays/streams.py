"""Stream objects of any library, as the handle that the driver takes."""

from __future__ import annotations

from typing import Any

from tilec.diagnostics import LaunchError

_EXPECTED = "an integer handle, a torch or CuPy stream, or an object with __cuda_stream__"


def handle_of(stream: Any) -> int:
    """Return the handle of a stream.

    Args:
        stream: an object with ``__cuda_stream__``, a ``torch.cuda.Stream``, a
            ``cupy.cuda.Stream``, a Numba stream, or anything that converts to an integer.

    Raises:
        LaunchError: the object is none of these.

    Source:
        CUDA Python, "the __cuda_stream__ protocol": a pair of version (0) and handle.
    """
    for read in (_protocol, _torch, _cupy, _numba, _index):
        handle = read(stream)
        if handle is not None:
            return handle
    raise LaunchError(f"stream= is {stream!r}, expected {_EXPECTED}")


def _protocol(stream: Any) -> int | None:
    if not hasattr(stream, "__cuda_stream__"):
        return None
    version, handle = stream.__cuda_stream__()
    if version != 0:
        raise LaunchError(f"stream= has a __cuda_stream__ of version {version}, expected version 0")
    return int(handle)


def _torch(stream: Any) -> int | None:
    return _integer(getattr(stream, "cuda_stream", None))


def _cupy(stream: Any) -> int | None:
    return _integer(getattr(stream, "ptr", None))


def _numba(stream: Any) -> int | None:
    if not hasattr(stream, "handle"):
        return None
    handle = stream.handle
    value = getattr(handle, "value", handle)
    return 0 if value is None else _integer(value)  # ctypes shows a null pointer as None


def _index(stream: Any) -> int | None:
    is_number = hasattr(stream, "__index__") or hasattr(stream, "__int__")
    return int(stream) if is_number and not isinstance(stream, (bool, float, str)) else None


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None
