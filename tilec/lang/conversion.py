"""Changing the dtype of a value: which arith ops, and what happens to values that do not fit.

Integers wrap, as in NumPy. Floats that become integers are truncated; out of range they saturate
and NaN becomes 0, which arith leaves undefined and a guard defines.
"""

from __future__ import annotations

from tilec.lang import dtypes
from tilec.lang.dtypes import DType
from tilec.lang.emit import Emitter, Handle

# The predicate numbers of arith.cmpi and arith.cmpf.
CMPI = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6, "ule": 7, "ugt": 8}
CMPI["uge"] = 9
CMPF = {"oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "one": 6, "uno": 14, "une": 13}

Shape = tuple[int, ...] | None


def convert(emitter: Emitter, handle: Handle, source: DType, target: DType, shape: Shape) -> Handle:
    """``handle`` converted from one dtype to another."""
    if source is target or (source.mlir == target.mlir and not _differ_in_meaning(source, target)):
        return handle
    if "index" in (source.name, target.name):
        return _convert_index(emitter, handle, source, target, shape)
    if target.is_bool:
        return _to_bool(emitter, handle, source, shape)
    result = emitter.type_of(target, shape)
    if source.is_float and target.is_float:
        return _between_floats(emitter, handle, source, target, shape)
    if source.is_float:
        return _float_to_int(emitter, handle, source, target, shape)
    if target.is_float:
        name = "arith.sitofp" if source.is_signed else "arith.uitofp"
        return emitter.value(name, (handle,), result)
    if source.is_bool or target.bits > source.bits:
        name = "arith.extsi" if source.is_signed else "arith.extui"
        return emitter.value(name, (handle,), result)
    return emitter.value("arith.trunci", (handle,), result)


def _differ_in_meaning(source: DType, target: DType) -> bool:
    return source.is_float != target.is_float or source.is_bool != target.is_bool


def _convert_index(
    emitter: Emitter, handle: Handle, source: DType, target: DType, shape: Shape
) -> Handle:
    """Between index and a dtype; MLIR only casts index to and from integers."""
    if source.name == "index":
        if target.is_integer:
            return emitter.value("arith.index_cast", (handle,), emitter.type_of(target, shape))
        wide = convert(emitter, handle, source, dtypes.int64, shape)
        return convert(emitter, wide, dtypes.int64, target, shape)
    if source.is_float:
        handle = convert(emitter, handle, source, dtypes.int64, shape)
        source = dtypes.int64
    name = "arith.index_cast" if source.is_signed else "arith.index_castui"
    return emitter.value(name, (handle,), emitter.dialects.type("index"))


def _to_bool(emitter: Emitter, handle: Handle, source: DType, shape: Shape) -> Handle:
    zero = emitter.constant(0, source, shape)
    name, predicate = ("arith.cmpf", CMPF["une"]) if source.is_float else ("arith.cmpi", CMPI["ne"])
    return compare_handles(emitter, name, predicate, handle, zero, shape)


def compare_handles(
    emitter: Emitter, name: str, predicate: int, left: Handle, right: Handle, shape: Shape
) -> Handle:
    """Emit arith.cmpi or arith.cmpf."""
    attributes = {"predicate": emitter.dialects.integer(predicate)}
    return emitter.value(name, (left, right), emitter.type_of(dtypes.bool_, shape), attributes)


def select(
    emitter: Emitter, condition: Handle, yes: Handle, no: Handle, dtype: DType, shape: Shape
) -> Handle:
    """Emit arith.select."""
    return emitter.value("arith.select", (condition, yes, no), emitter.type_of(dtype, shape))


def _between_floats(
    emitter: Emitter, handle: Handle, source: DType, target: DType, shape: Shape
) -> Handle:
    result = emitter.type_of(target, shape)
    if target.bits > source.bits:
        return emitter.value("arith.extf", (handle,), result)
    if target.bits < source.bits:
        return emitter.value("arith.truncf", (handle,), result)
    # Two formats of one width, neither of which holds the other: float32 holds both.
    wide = emitter.value("arith.extf", (handle,), emitter.type_of(dtypes.float32, shape))
    return emitter.value("arith.truncf", (wide,), result)


def _float_to_int(
    emitter: Emitter, handle: Handle, source: DType, target: DType, shape: Shape
) -> Handle:
    if source.bits < 32:  # so that the bounds below are exact
        handle = convert(emitter, handle, source, dtypes.float32, shape)
        source = dtypes.float32
    low = emitter.constant(float(target.smallest), source, shape)
    past = emitter.constant(float(target.largest + 1), source, shape)  # a power of two
    zero = emitter.constant(0.0, source, shape)

    def compare(predicate: str, bound: Handle) -> Handle:
        return compare_handles(emitter, "arith.cmpf", CMPF[predicate], handle, bound, shape)

    def choose(condition: Handle, value: float, otherwise: Handle) -> Handle:
        constant = emitter.constant(value, target, shape)
        return select(emitter, condition, constant, otherwise, target, shape)

    below, above = compare("olt", low), compare("oge", past)
    inside = emitter.value(
        "arith.andi",
        (compare("oge", low), compare("olt", past)),
        emitter.type_of(dtypes.bool_, shape),
    )
    safe = select(emitter, inside, handle, zero, source, shape)
    name = "arith.fptosi" if target.is_signed else "arith.fptoui"
    whole = emitter.value(name, (safe,), emitter.type_of(target, shape))
    return choose(above, target.largest, choose(below, target.smallest, whole))
