"""Element types: one immutable object each, and the way from other libraries' dtypes to ours.

Source: OCP 8-bit floating point specification (float8 formats); IEEE 754-2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tilec.diagnostics import TypeMismatchError

if TYPE_CHECKING:
    import numpy as np


class Kind(Enum):
    """What the bits of an element mean."""

    BOOL = "bool"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"


@dataclass(frozen=True, repr=False)
class DType:
    """The type of a tile's elements.

    Attributes:
        name: The NumPy / Array-API spelling, e.g. ``"bfloat16"``.
        short: The spelling of IR dumps and launch plans, e.g. ``"bf16"``.
        mlir: The MLIR element type of a tile; integers are signless there.
        kind: What the bits mean.
        bits: Storage width of one element in an array (1 byte for ``bool_``).
        significand_bits: Precision of a float including the hidden bit, 0 for the others.
        largest: Largest finite value.
        smallest: Most negative finite value.
    """

    name: str
    short: str
    mlir: str
    kind: Kind
    bits: int
    significand_bits: int
    largest: int | float
    smallest: int | float

    @property
    def is_float(self) -> bool:
        """Whether this is a floating-point type."""
        return self.kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer; ``bool_`` is not."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_signed(self) -> bool:
        """Whether this is a signed integer."""
        return self.kind is Kind.SIGNED

    @property
    def is_bool(self) -> bool:
        """Whether this is ``bool_``."""
        return self.kind is Kind.BOOL

    @property
    def itemsize_bytes(self) -> int:
        """Width of one element in memory."""
        return self.bits // 8

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype of an array with these elements (ml_dtypes' for the narrow floats)."""
        import ml_dtypes
        import numpy

        name = "float32" if self is tfloat32 else self.name
        return numpy.dtype(getattr(ml_dtypes, name, None) or name)

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


def _integer(name: str, kind: Kind, bits: int) -> DType:
    signed = kind is Kind.SIGNED
    largest = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    smallest = -(2 ** (bits - 1)) if signed else 0
    return DType(
        name, f"{'i' if signed else 'u'}{bits}", f"i{bits}", kind, bits, 0, largest, smallest
    )


def _float(
    name: str, short: str, mlir: str, bits: int, significand_bits: int, largest: float
) -> DType:
    return DType(name, short, mlir, Kind.FLOAT, bits, significand_bits, largest, -largest)


bool_ = DType("bool", "bool", "i1", Kind.BOOL, 8, 0, 1, 0)
int8 = _integer("int8", Kind.SIGNED, 8)
int16 = _integer("int16", Kind.SIGNED, 16)
int32 = _integer("int32", Kind.SIGNED, 32)
int64 = _integer("int64", Kind.SIGNED, 64)
uint8 = _integer("uint8", Kind.UNSIGNED, 8)
uint16 = _integer("uint16", Kind.UNSIGNED, 16)
uint32 = _integer("uint32", Kind.UNSIGNED, 32)
uint64 = _integer("uint64", Kind.UNSIGNED, 64)
float16 = _float("float16", "f16", "f16", 16, 11, 65504.0)
bfloat16 = _float("bfloat16", "bf16", "bf16", 16, 8, math.ldexp(255.0, 120))
float32 = _float("float32", "f32", "f32", 32, 24, math.ldexp(2.0**24 - 1.0, 104))
float64 = _float("float64", "f64", "f64", 64, 53, math.ldexp(2.0**53 - 1.0, 971))
# An f32 whose mma may drop the low 13 bits of the significand; the tile itself keeps all of them.
tfloat32 = _float("tfloat32", "tf32", "f32", 32, 11, math.ldexp(2047.0, 117))
float8_e4m3fn = _float("float8_e4m3fn", "e4m3", "f8E4M3FN", 8, 4, 448.0)
float8_e5m2 = _float("float8_e5m2", "e5m2", "f8E5M2", 8, 3, 57344.0)

DTYPES: tuple[DType, ...] = (
    bool_,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
    tfloat32,
    float8_e4m3fn,
    float8_e5m2,
)

BY_NAME: dict[str, DType] = {dtype.name: dtype for dtype in DTYPES}
BY_SHORT: dict[str, DType] = {dtype.short: dtype for dtype in DTYPES}
_ALIASES: dict[str, DType] = BY_NAME | {
    "bool_": bool_,
    "half": float16,
    "float": float32,
    "double": float64,
    "int": int32,
    "longlong": int64,
    "ulonglong": uint64,
}


def as_dtype(dtype: object) -> DType:
    """The tilec dtype that stands for ``dtype``.

    Args:
        dtype: A :class:`DType`, the Python types ``bool``, ``int`` (int32) and ``float``
            (float32), a name, or a dtype of NumPy, ml_dtypes, torch, CuPy or JAX; other
            libraries' are told by their name alone.

    Raises:
        TypeMismatchError: No tilec dtype has that name, or its bytes are swapped.

    >>> as_dtype("bfloat16").short
    'bf16'
    """
    if isinstance(dtype, DType):
        return BY_NAME.get(dtype.name, int64)  # coordinates and extents are 64-bit integers
    if not getattr(dtype, "isnative", True):
        raise TypeMismatchError(
            f"dtype {dtype} is not in native byte order",
            hint="convert the array first: x.astype(x.dtype.newbyteorder('='))",
        )
    found = _ALIASES.get(_dtype_name(dtype))
    if found is None:
        raise TypeMismatchError(
            f"unknown dtype {dtype!r}: expected one of {', '.join(BY_NAME)}",
        )
    return found


def _dtype_name(dtype: object) -> str:
    if isinstance(dtype, str):
        return dtype
    if isinstance(dtype, type):
        return dtype.__name__
    name = getattr(dtype, "name", None)
    if isinstance(name, str):
        return name
    return str(dtype).removeprefix("torch.")
