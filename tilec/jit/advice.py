"""Why a kernel misses an instruction of the tensor cores or of TMA, and the nearest that has it.

Asked only about a contract that is broken: the kernel is traced once more, for its summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilec.compiler.target import Target
from tilec.diagnostics import TilecError
from tilec.jit.contract import Advice
from tilec.jit.planning import Planner
from tilec.trace.signature import ConstantSpec, Signature, Spec, TupleSpec, ViewSpec

_TMA_ALIGN_BYTES = 16
_STEP_BITS = 256
"""Along K, of one instruction."""


@dataclass(frozen=True)
class _Unit:
    """An instruction that multiplies: element types as MLIR spells them, rows and columns."""

    name: str
    elements: tuple[str, ...]
    rows: int
    columns: int = 8


_FP8 = ("f8E4M3FN", "f8E5M2")
_WGMMA = _Unit("wgmma", ("f16", "bf16", "tf32", "i8", *_FP8), 64)
_MMA_ELEMENTS = {
    "mma_f16": ("f16",),
    "mma_bf16": ("bf16",),
    "mma_tf32": ("tf32",),
    "mma_i8": ("i8",),
    "fp8_mma": _FP8,
}
_SPELLING = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "i8": 8, "f8E4M3FN": 8, "f8E5M2": 8}


@dataclass(frozen=True)
class Adviser:
    """Knows a kernel for which a contract is broken.

    Attributes:
        planner: the kernel's.
        names: its parameters.
        signature: the specialization.
        target: what it was compiled for.
    """

    planner: Planner
    names: Sequence[str]
    signature: Signature
    target: Target

    def __call__(self, lacking: Sequence[str]) -> Advice:
        """Return what stands in the way of features that the machine code lacks."""
        summary, obstacles = self._known()
        findings: list[tuple[str, str | None]] = []
        if {"wgmma", "tma", "tma_multicast"}.intersection(lacking) and self.target.has("tma"):
            findings += self._of_arrays()
        # A plan that met such an array has chosen a tile without wgmma in mind.
        for unit in () if findings else self._units(lacking):
            findings += _of_products(unit, summary, self._tile())
        if "wgmma" in lacking and not findings:
            findings += [(self._named(text), None) for text in obstacles]
        nearest = dict.fromkeys(text for _, text in findings if text)
        return Advice(
            tuple(dict.fromkeys(text for text, _ in findings)), "; ".join(nearest) or None
        )

    def _known(self) -> tuple[Mapping[str, Any] | None, Sequence[str]]:
        try:
            return self.planner.obstacles(self.signature, self.target)
        except TilecError:  # it is right for the author's tile only
            return None, ()

    def _units(self, lacking: Sequence[str]) -> Iterator[_Unit]:
        if "wgmma" in lacking and self.target.has("wgmma"):
            yield _WGMMA
        if "mma" in lacking:
            has = (items for name, items in _MMA_ELEMENTS.items() if self.target.has(name))
            yield _Unit("mma", tuple(item for items in has for item in items), 16)

    def _tile(self) -> tuple[int, ...] | None:
        for spec in self.signature.runtime():
            if isinstance(spec, ViewSpec) and isinstance(spec.tile_shape, tuple):
                return spec.tile_shape
        return None

    def _named(self, text: str) -> str:
        """Put the names of parameters for the numbers of arguments."""
        names = list(_flat_names(self.names, self.signature.specs))
        return re.sub(r"\bargument (\d+)\b", lambda match: names[int(match[1])], text)

    def _of_arrays(self) -> Iterator[tuple[str, str | None]]:
        names = _flat_names(self.names, self.signature.specs)
        for name, spec in zip(names, self.signature.runtime(), strict=True):
            if isinstance(spec, ViewSpec):
                yield from _of_array(name, spec)


def _of_products(
    unit: _Unit, summary: Mapping[str, Any] | None, tile: tuple[int, ...] | None
) -> Iterator[tuple[str, str | None]]:
    if summary is None:
        return
    if not summary["products"]:
        yield "it multiplies no tiles (tl.mma)", None
    for product in summary["products"]:
        element = "tf32" if product["tf32"] else str(product["lhs"])
        if element not in unit.elements:
            taken = ", ".join(_SPELLING.get(name, name) for name in unit.elements)
            yield f"{unit.name} does not multiply {element}, it takes {taken}", _other(element)
            continue
        step = _STEP_BITS // _BITS[element]
        found = (_extent(product["m"], tile), _extent(product["n"], tile), product["k_step"])
        yield from _of_shape(unit, found, (unit.rows, unit.columns, step))


def _of_shape(
    unit: _Unit, found: tuple[int | None, ...], steps: tuple[int, int, int]
) -> Iterator[tuple[str, str | None]]:
    known = [(extent, step) for extent, step in zip(found, steps, strict=True) if extent]
    if len(known) == len(steps) and any(extent % step for extent, step in known):
        nearest = " x ".join(str(max(1, round(extent / step)) * step) for extent, step in known)
        yield (
            f"{unit.name} multiplies M x N x K in multiples of {' x '.join(map(str, steps))}, "
            f"found {' x '.join(map(str, found))}",
            f"the nearest that {unit.name} multiplies is {nearest}",
        )


def _other(element: str) -> str | None:
    if element in ("f32", "f64"):
        return "the nearest dtype is tf32: x.to(tl.tfloat32) on both operands"
    return None


def _extent(extent: Any, tile: tuple[int, ...] | None) -> int | None:
    if isinstance(extent, int):
        return extent
    dim = int(extent["dim"])
    return tile[dim] if tile and dim < len(tile) else None


def _of_array(name: str, spec: ViewSpec) -> Iterator[tuple[str, str | None]]:
    if True not in spec.unit_strides:
        yield f"TMA moves rows of adjacent elements: no stride of {name} is 1", None
        return
    pitches = [
        align for align, unit in zip(spec.stride_align, spec.unit_strides, strict=True) if not unit
    ]
    pitch = min(pitches, default=_TMA_ALIGN_BYTES)
    if pitch < _TMA_ALIGN_BYTES:
        elements = _TMA_ALIGN_BYTES // spec.dtype.itemsize_bytes
        yield (
            f"TMA takes rows that are multiples of {_TMA_ALIGN_BYTES} bytes apart, those of {name} "
            f"are multiples of {pitch}",
            f"allocate {name} with rows of a multiple of {elements} elements",
        )
    elif spec.align < _TMA_ALIGN_BYTES:
        yield (
            f"TMA takes addresses that are multiples of {_TMA_ALIGN_BYTES}, that of {name} is a "
            f"multiple of {spec.align}",
            None,
        )


def _flat_names(names: Sequence[str], specs: Sequence[Spec]) -> Iterator[str]:
    """Return the names of the flat run-time arguments; those inside a tuple have their number."""
    for name, spec in zip(names, specs, strict=True):
        if isinstance(spec, TupleSpec):
            yield from _flat_names([f"{name}.{k}" for k in range(len(spec.items))], spec.items)
        elif not isinstance(spec, ConstantSpec):
            yield name
