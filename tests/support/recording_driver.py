"""A driver that records what it is told, arrays without memory, and kernels without code."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tilec import _runtime

ITEM_BYTES = {"b1": 1, "i1": 1, "u1": 1, "f2": 2, "i4": 4, "f4": 4, "f8": 8, "i8": 8, "c8": 8}


class TensorMap(ctypes.Structure):
    """What the driver was asked to encode, in the order of its dimensions."""

    _fields_ = [
        *((name, ctypes.c_uint8) for name in ("type", "rank", "interleave", "swizzle")),
        *((name, ctypes.c_uint8) for name in ("promotion", "fill")),
        ("unused", ctypes.c_uint8 * 2),
        ("address", ctypes.c_uint64),
        ("extents", ctypes.c_uint64 * 5),
        ("strides", ctypes.c_uint64 * 4),
        ("box", ctypes.c_uint32 * 5),
        ("element_strides", ctypes.c_uint32 * 5),
    ]


class Launch(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint32),
        ("attribute_count", ctypes.c_uint32),
        ("attribute_id", ctypes.c_int32),
        ("cluster", ctypes.c_uint32 * 3),
        ("stream", ctypes.c_uint64),
        ("function", ctypes.c_uint64),
        ("context", ctypes.c_uint64),
        ("parameters", ctypes.c_uint64 * 64),
        ("map_addresses", ctypes.c_uint64 * 12),
        ("maps", TensorMap * 12),
    ]


class FakeDriver:
    """The records of recording_driver.c."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.library = ctypes.CDLL(path)
        self.library.fake_last_launch.restype = ctypes.POINTER(Launch)
        self.library.fake_launches.restype = ctypes.c_long
        self.library.fake_last_image.restype = ctypes.c_char_p
        self.library.fake_current_context.restype = ctypes.c_uint64
        self.library.fake_table.restype = ctypes.c_void_p
        self.library.fake_graph_memory.restype = ctypes.c_void_p
        self.library.fake_table_fact.restype = ctypes.c_uint64

    @property
    def launches(self) -> int:
        return self.library.fake_launches()

    @property
    def last(self) -> Launch:
        return self.library.fake_last_launch().contents

    @property
    def last_image(self) -> bytes:
        return self.library.fake_last_image()

    def counter(self, name: str) -> int:
        return self.library.fake_counter(name.encode())

    def parameters(self, count: int) -> list[int]:
        return list(self.last.parameters)[:count]

    def table(self) -> bytes:
        """The table of the last grouped launch, as it was copied."""
        return ctypes.string_at(self.library.fake_table(), self.table_fact("bytes"))

    def table_fact(self, name: str) -> int:
        return self.library.fake_table_fact(name.encode())

    def record_maps(self, first: int, count: int) -> None:
        """From now on, read ``count`` parameters from ``first`` as tensor maps."""
        self.library.fake_set_maps(first, count)


def build_library(directory: Path) -> str:
    """Compile the driver; returns the path of the library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "the runtime's tests need a C compiler"
    path = directory / "librecordingdriver.so"
    source = Path(__file__).with_suffix(".c")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(path), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return str(path)


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return build_library(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def driver(fake_library: str) -> Iterator[FakeDriver]:
    fake = FakeDriver(fake_library)
    fake.library.fake_reset()
    _runtime.replace_driver(fake_library)
    yield fake
    fake.library.fake_reset()
    _runtime.replace_driver("")


@dataclass
class DeviceArray:
    """An array on a GPU that does not exist, shown through __cuda_array_interface__."""

    pointer: int
    shape: tuple[int, ...]
    typestr: str = "<f4"
    strides: tuple[int, ...] | None = None  # in bytes
    read_only: bool = False
    stream: int | None = None

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.typestr,
            "data": (self.pointer, self.read_only),
            "strides": self.strides,
            "stream": self.stream,
        }


@dataclass
class Memory:
    """Hands out addresses of fake devices, never the same twice."""

    next: list[int] = field(default_factory=lambda: [1 << 40, 2 << 40])

    def array(
        self,
        shape: Sequence[int],
        typestr: str = "<f4",
        *,
        device: int = 0,
        offset: int = 0,
        **more: Any,
    ) -> DeviceArray:
        pointer = self.next[device]
        elements = 1
        for extent in shape:
            elements *= extent
        self.next[device] += (elements * 8 // 512 + 2) * 512
        return DeviceArray(pointer + offset, tuple(shape), typestr, **more)


@pytest.fixture
def memory() -> Memory:
    return Memory()


def plan_of(specs: Sequence[Any], **more: Any) -> dict[str, Any]:
    """The launch plan that a compiler would make for these specifications."""
    flat = list(flatten(specs))
    parameters: list[dict[str, Any]] = []
    for number, (kind, *rest) in enumerate(flat):
        if kind == "scalar":
            parameters.append({"kind": "scalar", "arg": number, "dtype": rest[0]})
            continue
        _, rank, _, unit, *_ = rest
        parameters.append({"kind": "pointer", "arg": number})
        parameters += [{"kind": "shape", "arg": number, "dim": d} for d in range(rank)]
        parameters += [
            {"kind": "stride", "arg": number, "dim": d} for d in range(rank) if not unit[d]
        ]
    tiled = any(spec[0] == "view" and spec[3] == "exclusive" for spec in flat)
    return {
        "version": 1,
        "symbol": "kernel",
        "target": "sm_90a",
        "num_warps": 4,
        "threads": 128,
        "shared_bytes": 0,
        "params": parameters,
        "grid": {"rule": "tiles" if tiled else "explicit"},
        **more,
    }


def grouped_plan_of(specs: Sequence[Any], maps: Sequence[Any] = (), **more: Any) -> dict[str, Any]:
    """The same for a kernel that takes a list of problems; cells first, then the maps."""
    plan = plan_of(specs, **more)
    for number, parameter in enumerate(plan["params"]):
        parameter["offset"] = 8 * number
    row_bytes = 8 * len(plan["params"])
    for parameter in maps:
        offset = -(-row_bytes // 128) * 128
        plan["params"].append({**parameter, "kind": "tensor_map", "offset": offset})
        row_bytes = offset + 128
    return {**plan, "group": {"row_bytes": row_bytes}}


def flatten(specs: Sequence[Any]) -> Iterator[Any]:
    for spec in specs:
        if spec[0] == "tuple":
            yield from flatten(spec[1])
        elif spec[0] != "constant":
            yield spec


class PlannedKernel(_runtime.Launcher):
    """A kernel whose variants have a plan and no code."""

    def __init__(self, *parameters: Any, image: bytes = b"cubin", **plan: Any) -> None:
        super().__init__(
            "kernel", [p if isinstance(p, tuple) else (p, False, False) for p in parameters]
        )
        self.image = image
        self.plan = plan
        self.fallback = b""
        self.guards: list[Any] = []
        self.misses: list[tuple[Any, int | None]] = []
        self.host_calls: list[tuple[list[Any], Any]] = []

    def _resolve(self, specs: Any, device: int | None) -> Any:
        return self._found(specs, device, plan_of)

    def _resolve_group(self, specs: Any, device: int | None) -> Any:
        return self._found(specs, device, grouped_plan_of)

    def _found(self, specs: Any, device: int | None, plan_for: Callable[..., Any]) -> Any:
        self.misses.append((specs, device))
        if device is None:
            return lambda arguments, grid: self.host_calls.append((arguments, grid)), self.guards
        plan = json.dumps(plan_for(specs, **self.plan))
        return _runtime.Variant(self.image, plan, self.fallback), self.guards


@pytest.fixture
def kernel_class() -> type[PlannedKernel]:
    return PlannedKernel
