"""What a value of some Python type is to a kernel: asked once per type, by the runtime."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from tilec.arrays import cupy, torch
from tilec.arrays.description import ArraySpec


class Classification(NamedTuple):
    """The answer to the runtime (``TypeProfile`` in runtime/array_binding.h).

    Attributes:
        kind: how the runtime reads values of the type; the words are listed in
            runtime/array_binding.cpp.
        device_of: from an array to the ordinal of its GPU, when its protocol does not say.
        stream_of: from the ordinal of a GPU to the handle of the library's current stream.
    """

    kind: str
    device_of: Callable[[Any], int] | None = None
    stream_of: Callable[[int], int] | None = None


def classify(example: Any, has_exchange: bool) -> Classification:
    """Tell what values of a type are.

    Args:
        example: the first value met; not of a builtin type, which the runtime knows.
        has_exchange: whether its type has a usable DLPack exchange table.
    """
    kind = cast("type[Any]", type(example))
    return _library_array(kind, has_exchange) or Classification(
        _plain_value(kind) or _protocol_array(example, has_exchange) or "unsupported"
    )


def _library_array(kind: type[Any], has_exchange: bool) -> Classification | None:
    """Arrays of the libraries known by name."""
    if _inherits(kind, "numpy", "ndarray"):
        return Classification("array_interface")
    if _inherits(kind, "torch", "Tensor"):
        how = "exchange" if has_exchange else "dlpack"
        return Classification(how, stream_of=torch.current_stream)
    if _inherits(kind, "cupy", "ndarray"):
        if has_exchange:
            return Classification("exchange")
        return Classification("cuda_array_interface", cupy.device, cupy.current_stream)
    if _inherits(kind, "numba", "DeviceNDArrayBase"):
        # Its interface carries the stream; Numba has no current one.
        return Classification("cuda_array_interface")
    return None


def _plain_value(kind: type[Any]) -> str | None:
    """Constants and numbers."""
    if issubclass(kind, ArraySpec):
        return "description"
    if kind.__module__ in ("tilec.lang.values", "tilec.lang.views"):
        return "proxy"
    if issubclass(kind, enum.Enum) or _is_frozen_dataclass(kind):
        return "constant"
    if issubclass(kind, int):
        return "integer"
    if issubclass(kind, float):
        return "real"
    return _numpy_scalar(kind)


def _numpy_scalar(kind: type[Any]) -> str | None:
    for base, answer in (("bool", "boolean"), ("integer", "integer"), ("floating", "real")):
        if _inherits(kind, "numpy", base) or _inherits(kind, "numpy", f"{base}_"):
            return answer
    # bfloat16 and the 8-bit floats derive from numpy.generic only.
    if kind.__module__.partition(".")[0] == "ml_dtypes":
        return "real"
    return "unsupported" if _inherits(kind, "numpy", "generic") else None


def _protocol_array(example: Any, has_exchange: bool) -> str | None:
    """Arrays of any other library, by what they offer."""
    if has_exchange:
        return "exchange"
    if _offers(example, "__dlpack__") and _offers(example, "__dlpack_device__"):
        return "dlpack"
    if _offers(example, "__cuda_array_interface__"):
        return "cuda_array_interface"
    if _offers(example, "__array_interface__"):
        return "array_interface"
    return None


def _offers(example: Any, name: str) -> bool:
    """Whether a value has an attribute; no property is evaluated to find out."""
    kind = cast("type[Any]", type(example))
    if hasattr(kind, name) or name in getattr(example, "__dict__", {}):
        return True
    return hasattr(kind, "__getattr__") and hasattr(example, name)  # one that stands for another


def _inherits(kind: type[Any], library: str, name: str) -> bool:
    """Whether a type derives from a class of a library that need not be installed."""
    return any(
        base.__name__ == name and base.__module__.partition(".")[0].removeprefix("_") == library
        for base in kind.__mro__
    )


def _is_frozen_dataclass(kind: type[Any]) -> bool:
    parameters = getattr(kind, "__dataclass_params__", None)
    return dataclasses.is_dataclass(kind) and bool(getattr(parameters, "frozen", False))
