"""tilec: GPU kernels in Python, written as whole-tile programs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tilec.diagnostics import (
    CacheWarning,
    CompileError,
    CompilerFault,
    ControlFlowError,
    DriverError,
    HintWarning,
    LaunchError,
    TilecError,
    TilecWarning,
    TraceError,
    TypeMismatchError,
)
from tilec.lang.debugging import assert_, breakpoint, print
from tilec.lang.division import cdiv
from tilec.lang.dtypes import (
    DType,
    bfloat16,
    bool_,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    tfloat32,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tilec.lang.elementwise import absolute as abs
from tilec.lang.elementwise import (
    astype,
    bitcast,
    clamp,
    clz,
    maximum,
    minimum,
    mulhi,
    popcount,
    where,
)
from tilec.lang.mathematics import (
    acos,
    asin,
    atan,
    atan2,
    ceil,
    copysign,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    fma,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logical_not,
    pow,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from tilec.lang.matmul import mma
from tilec.lang.program import (
    Constant,
    assume,
    num_programs,
    program_id,
    static_assert,
    static_print,
    static_range,
)
from tilec.lang.reduce import all, any, argmax, argmin, max, mean, min, prod, reduce, sum, var
from tilec.lang.shape import (
    arange,
    broadcast_to,
    expand_dims,
    full,
    ones,
    permute,
    reshape,
    squeeze,
    transpose,
    zeros,
)
from tilec.lang.values import Scalar, Tile
from tilec.lang.views import Partition, TensorView

if TYPE_CHECKING:
    from tilec._runtime import AUTO, accumulate, partition, unchecked
    from tilec.arrays.description import ArraySpec
    from tilec.jit.kernel import Kernel, kernel
    from tilec.jit.tune import TunedKernel, tune

# What launches: loaded at its first use, so that tracing needs no compiled runtime.
_LAUNCHING = {
    "AUTO": "tilec._runtime",
    "ArraySpec": "tilec.arrays.description",
    "TunedKernel": "tilec.jit.tune",
    "Kernel": "tilec.jit.kernel",
    "accumulate": "tilec._runtime",
    "kernel": "tilec.jit.kernel",
    "partition": "tilec._runtime",
    "tune": "tilec.jit.tune",
    "unchecked": "tilec._runtime",
}


def __getattr__(name: str) -> object:
    if name not in _LAUNCHING:
        message = f"module 'tilec' has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=import_module(__name__))
    value = globals()[name] = getattr(import_module(_LAUNCHING[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "AUTO",
    "ArraySpec",
    "CacheWarning",
    "CompileError",
    "CompilerFault",
    "Constant",
    "ControlFlowError",
    "DType",
    "DriverError",
    "HintWarning",
    "Kernel",
    "LaunchError",
    "Partition",
    "Scalar",
    "TensorView",
    "Tile",
    "TilecError",
    "TilecWarning",
    "TraceError",
    "TunedKernel",
    "TypeMismatchError",
    "abs",
    "accumulate",
    "acos",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "asin",
    "assert_",
    "assume",
    "astype",
    "atan",
    "atan2",
    "bfloat16",
    "bitcast",
    "bool_",
    "breakpoint",
    "broadcast_to",
    "cdiv",
    "ceil",
    "clamp",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "floor",
    "fma",
    "full",
    "int8",
    "int16",
    "int32",
    "int64",
    "isfinite",
    "isinf",
    "isnan",
    "kernel",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_not",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mma",
    "mulhi",
    "num_programs",
    "ones",
    "partition",
    "permute",
    "popcount",
    "pow",
    "print",
    "prod",
    "program_id",
    "reduce",
    "reshape",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "squeeze",
    "static_assert",
    "static_print",
    "static_range",
    "sum",
    "tan",
    "tanh",
    "tfloat32",
    "transpose",
    "trunc",
    "tune",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unchecked",
    "var",
    "where",
    "zeros",
]
