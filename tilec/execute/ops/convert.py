"""Casts between element types, constants and selection."""

# NumPy's stubs leave most of its functions partly unknown: no strict checks here.
# pyright: basic

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tilec.execute import numerics
from tilec.execute.errors import ExecutionError, source_frames
from tilec.execute.lower import tile_type
from tilec.execute.numerics import Array
from tilec.execute.ops.integer import signed, unsigned
from tilec.execute.registry import Operation, pure, pure_table
from tilec.execute.types import TileType

pure_table({"arith.select": np.where})


@pure("arith.extsi", "arith.index_cast")
def _extend_signed(op: Operation) -> Callable[[Array], Array]:
    dtype = tile_type(op.results[0]).dtype
    return lambda x: signed(x).astype(dtype)


@pure("arith.extui", "arith.index_castui")
def _extend_unsigned(op: Operation) -> Callable[[Array], Array]:
    dtype = tile_type(op.results[0]).dtype
    return lambda x: unsigned(x).astype(dtype)


@pure("arith.trunci")
def _truncate_integer(op: Operation) -> Callable[[Array], Array]:
    dtype = tile_type(op.results[0]).dtype
    if dtype == np.bool_:
        return lambda x: (x & 1).astype(dtype)
    return lambda x: x.astype(dtype)


@pure("arith.extf")
def _extend_float(op: Operation) -> Callable[[Array], Array]:
    dtype = tile_type(op.results[0]).dtype
    return lambda x: x.astype(dtype)


@pure("arith.truncf")
def _truncate_float(op: Operation) -> Callable[[Array], Array]:
    result = tile_type(op.results[0])
    if result.element == "tf32":
        return lambda x: numerics.to_tf32(x.astype(np.float32))
    mode = str(op.attributes["roundingmode"]) if "roundingmode" in op.attributes else "0"
    direction = _ROUNDING.get(mode)
    if direction is None:
        raise ExecutionError(
            f"the CPU executor has no rule for the rounding mode {mode}",
            frames=source_frames(op.location),
        )
    return lambda x: direction(x, numerics.narrow(x, result.dtype))


def _toward_zero(exact: Array, nearest: Array) -> Array:
    beyond = abs(nearest.astype(np.float64)) > abs(exact.astype(np.float64))
    return np.where(beyond, np.nextafter(nearest, nearest.dtype.type(0)), nearest)


def _upward(exact: Array, nearest: Array) -> Array:
    below = nearest.astype(np.float64) < exact.astype(np.float64)
    return np.where(below, np.nextafter(nearest, nearest.dtype.type(np.inf)), nearest)


def _downward(exact: Array, nearest: Array) -> Array:
    above = nearest.astype(np.float64) > exact.astype(np.float64)
    return np.where(above, np.nextafter(nearest, nearest.dtype.type(-np.inf)), nearest)


def _nearest(exact: Array, nearest: Array) -> Array:
    return nearest


#: By the value of ``arith.RoundingMode``.
_ROUNDING: dict[str, Callable[[Array, Array], Array]] = {
    "0": _nearest,
    "0 : i32": _nearest,
    "1 : i32": _downward,
    "2 : i32": _upward,
    "3 : i32": _toward_zero,
}


@pure("arith.sitofp")
def _from_signed(op: Operation) -> Callable[[Array], Array]:
    dtype = tile_type(op.results[0]).dtype
    return lambda x: numerics.integer_to_float(signed(x), dtype)


@pure("arith.uitofp")
def _from_unsigned(op: Operation) -> Callable[[Array], Array]:
    dtype = tile_type(op.results[0]).dtype
    return lambda x: numerics.integer_to_float(unsigned(x), dtype)


@pure("arith.fptosi")
def _to_signed(op: Operation) -> Callable[[Array], Array]:
    dtype = tile_type(op.results[0]).dtype
    if dtype == np.bool_:
        return lambda x: np.trunc(x) != 0
    return lambda x: numerics.float_to_integer(x, dtype)


@pure("arith.fptoui")
def _to_unsigned(op: Operation) -> Callable[[Array], Array]:
    dtype = tile_type(op.results[0]).dtype
    if dtype == np.bool_:
        return lambda x: np.trunc(x) != 0
    integer = np.dtype(f"u{dtype.name}")
    return lambda x: signed(numerics.float_to_integer(x, integer))


@pure("arith.bitcast")
def _bitcast(op: Operation) -> Callable[[Array], Array]:
    dtype = tile_type(op.results[0]).dtype
    return lambda x: x.view(dtype)


@pure("arith.constant")
def _constant(op: Operation) -> Callable[[], Array]:
    value = constant(op.attributes["value"], tile_type(op.results[0]))
    return lambda: value


def constant(attribute: Any, result: TileType) -> Array:
    """Return the value of an integer, float or dense attribute."""
    if result.is_scalar:
        return scalar_constant(attribute, result.dtype)
    if attribute.is_splat:
        scalar = scalar_constant(attribute.get_splat_value(), result.dtype)
        tile = np.full(result.shape, scalar, result.dtype)
    else:
        tile = np.array(_dense_elements(attribute, result.dtype)).reshape(result.shape)
    tile.setflags(write=False)
    return tile


def scalar_constant(attribute: Any, dtype: np.dtype[Any]) -> Any:
    """Return the value of an integer, bool or float attribute as a NumPy scalar."""
    if dtype.kind != "i":
        return dtype.type(attribute.value)
    wide = attribute.value
    half = 1 << (dtype.itemsize * 8 - 1)
    return dtype.type((wide + half) % (2 * half) - half)


def _dense_elements(attribute: Any, dtype: np.dtype[Any]) -> Array:
    if dtype.kind in "bi" or dtype.itemsize >= 4 or dtype == np.float16:
        return np.array(attribute).astype(dtype)
    # The bindings expose no buffer for bf16 and fp8: read the printed elements.
    return _printed_floats(str(attribute), dtype)


def _printed_floats(text: str, dtype: np.dtype[Any]) -> Array:
    body = text[text.index("<") + 1 : text.rindex("> :")]
    if packed := re.fullmatch(r'"0x([0-9A-Fa-f]*)"', body):
        return np.frombuffer(bytes.fromhex(packed[1]), dtype)
    bits = np.dtype(f"u{dtype.itemsize}")

    def element(word: str) -> Any:
        if word.startswith("0x"):
            return bits.type(int(word, 16)).view(dtype)
        return dtype.type(float(word))

    return np.array([element(word) for word in re.findall(r"[^\[\],\s]+", body)], dtype)
