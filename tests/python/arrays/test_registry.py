"""What the runtime is told about types; the libraries themselves need not be installed."""

from __future__ import annotations

import enum
import sys
from collections import namedtuple
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import tilec as tl
from tilec.arrays import ArraySpec, cupy, torch
from tilec.arrays.registry import Classification, classify
from tilec.lang.dtypes import DType


def library_class(module: str, name: str, **members: object) -> type:
    return type(name, (), {"__module__": module, **members})


def example_of(kind: type) -> object:
    makers = {np.datetime64: lambda: np.datetime64(0, "s"), Shade: lambda: Shade.DARK}
    makers |= {ArraySpec: lambda: ArraySpec((1,), "float32"), DType: lambda: tl.float32}
    if kind in makers:
        return makers[kind]()
    if issubclass(kind, np.ndarray):
        return np.zeros(1).view(kind)
    if kind.__module__ == "ml_dtypes":
        return kind(1)
    return kind(1, 2) if issubclass(kind, tuple) else kind()


class Shade(enum.IntEnum):
    DARK = 1


@dataclass(frozen=True)
class Frozen:
    x: int = 1


@dataclass
class Mutable:
    x: int = 1


class Meters(float):
    pass


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (np.ndarray, "array_interface"),
        (type("View", (np.ndarray,), {}), "array_interface"),
        (np.bool_, "boolean"),
        (np.int8, "integer"),
        (np.uint64, "integer"),
        (np.float16, "real"),
        (np.float64, "real"),
        (ml_dtypes.bfloat16, "real"),
        (ml_dtypes.float8_e5m2, "real"),
        (np.complex64, "unsupported"),
        (np.datetime64, "unsupported"),
        (np.str_, "unsupported"),
        (Shade, "constant"),
        (Frozen, "constant"),
        (DType, "constant"),
        (Mutable, "unsupported"),
        (Meters, "real"),
        (ArraySpec, "description"),
        (str, "unsupported"),
        (Fraction, "unsupported"),
        (namedtuple("Point", "x y"), "unsupported"),
        (library_class("somewhere", "A", __dlpack__=1, __dlpack_device__=1), "dlpack"),
        (library_class("somewhere", "A", __dlpack__=1), "unsupported"),
        (library_class("somewhere", "A", __cuda_array_interface__=1), "cuda_array_interface"),
        (library_class("somewhere", "A", __array_interface__=1), "array_interface"),
        (
            library_class(
                "somewhere", "A", __dlpack__=1, __dlpack_device__=1, __cuda_array_interface__=1
            ),
            "dlpack",
        ),
        (
            library_class("numba.cuda.cudadrv.devicearray", "DeviceNDArrayBase", __dlpack__=1),
            "cuda_array_interface",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_type_is_told_by_what_it_is(kind, answer):
    assert classify(example_of(kind), has_exchange=False) == Classification(answer)


def test_interface_may_be_an_attribute_of_the_object():
    bare = SimpleNamespace(__cuda_array_interface__={})
    assert classify(bare, has_exchange=False).kind == "cuda_array_interface"


def test_usable_exchange_table_comes_first():
    kind = library_class("somewhere", "A", __dlpack__=1, __dlpack_device__=1)
    assert classify(kind(), has_exchange=True) == Classification("exchange")
    assert classify(np.zeros(1), has_exchange=True).kind == "array_interface"


def test_torch_tensor_without_table_brings_its_stream(monkeypatch):
    tensor = library_class("torch", "Tensor", __dlpack__=1, __dlpack_device__=1)
    parameter = type("Parameter", (tensor,), {"__module__": "torch.nn.parameter"})
    for kind in (tensor, parameter):
        found = classify(kind(), has_exchange=False)
        assert (found.kind, found.stream_of) == ("dlpack", torch.current_stream)
        assert classify(kind(), has_exchange=True).kind == "exchange"
    streams = SimpleNamespace(
        current_stream=lambda device: SimpleNamespace(cuda_stream=90 + device)
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=streams))
    assert torch.current_stream(1) == 91


def test_cupy_array_brings_its_device_and_stream(monkeypatch):
    array = library_class("cupy", "ndarray", __cuda_array_interface__=1, __dlpack__=1)
    found = classify(array(), has_exchange=False)
    assert found == ("cuda_array_interface", cupy.device, cupy.current_stream)
    assert classify(array(), has_exchange=True) == Classification("exchange")
    streams = SimpleNamespace(get_current_stream=lambda device: SimpleNamespace(ptr=70 + device))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=streams))
    assert cupy.current_stream(1) == 71
    assert cupy.device(SimpleNamespace(device=SimpleNamespace(id=3))) == 3


def test_class_of_a_library_by_name_only_is_not_enough():
    assert (
        classify(library_class("torchlike", "Tensor")(), has_exchange=False).kind == "unsupported"
    )
