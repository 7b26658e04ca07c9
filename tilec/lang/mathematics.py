"""Functions on floating-point values; 8- and 16-bit integers are computed as float32.

On Python numbers alone the function computes at once, in double precision.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from tilec.diagnostics import TypeMismatchError
from tilec.lang.conversion import CMPF, compare_handles
from tilec.lang.dtypes import bool_, float32
from tilec.lang.elementwise import (
    absolute,
    arithmetic,
    astype,
    bitwise,
    float_op,
    float_operands,
    multiply,
    numbers,
)
from tilec.lang.operands import Unified, is_number
from tilec.lang.values import Operand


def _function(
    what: str, name: str, python: Callable[..., float], *values: Operand, fast: bool = False
) -> Any:
    """Emit one op; ``fast`` lets the compiler take the bare hardware approximation."""
    if numbers(values):
        return python(*values)
    operands = float_operands(what, *values)
    if not fast:
        return operands.op(name)
    approximate = operands.emitter.dialects.attribute("#arith.fastmath<contract,afn>")
    return operands.op(name, fastmath=approximate)


def _exp2(x: float) -> float:
    return 2.0**x


def _rsqrt(x: float) -> float:
    return 1.0 / math.sqrt(x)


def exp(x: Operand, *, fast: bool = False) -> Any:
    """E to the power x; ``fast`` takes the hardware approximation (docs/numerics.md)."""
    return _function("exp", "math.exp", math.exp, x, fast=fast)


def exp2(x: Operand, *, fast: bool = False) -> Any:
    """2 to the power x; ``fast`` takes the hardware approximation (docs/numerics.md)."""
    return _function("exp2", "math.exp2", _exp2, x, fast=fast)


def expm1(x: Operand) -> Any:
    """``exp(x) - 1`` without cancellation near 0."""
    return _function("expm1", "math.expm1", math.expm1, x)


def log(x: Operand, *, fast: bool = False) -> Any:
    """Natural logarithm; ``fast`` takes the hardware approximation (docs/numerics.md)."""
    return _function("log", "math.log", math.log, x, fast=fast)


def log2(x: Operand, *, fast: bool = False) -> Any:
    """Logarithm to base 2; ``fast`` takes the hardware approximation (docs/numerics.md)."""
    return _function("log2", "math.log2", math.log2, x, fast=fast)


def log10(x: Operand) -> Any:
    """Logarithm to base 10."""
    return _function("log10", "math.log10", math.log10, x)


def log1p(x: Operand) -> Any:
    """``log(1 + x)`` without cancellation near 0."""
    return _function("log1p", "math.log1p", math.log1p, x)


def sqrt(x: Operand) -> Any:
    """Square root, correctly rounded."""
    return _function("sqrt", "math.sqrt", math.sqrt, x)


def rsqrt(x: Operand) -> Any:
    """``1 / sqrt(x)``."""
    return _function("rsqrt", "math.rsqrt", _rsqrt, x)


def sin(x: Operand, *, fast: bool = False) -> Any:
    """Sine (radians); ``fast`` takes the hardware approximation (docs/numerics.md)."""
    return _function("sin", "math.sin", math.sin, x, fast=fast)


def cos(x: Operand, *, fast: bool = False) -> Any:
    """Cosine (radians); ``fast`` takes the hardware approximation (docs/numerics.md)."""
    return _function("cos", "math.cos", math.cos, x, fast=fast)


def tan(x: Operand) -> Any:
    """Tangent of an angle in radians."""
    return _function("tan", "math.tan", math.tan, x)


def asin(x: Operand) -> Any:
    """Inverse sine, in radians."""
    return _function("asin", "math.asin", math.asin, x)


def acos(x: Operand) -> Any:
    """Inverse cosine, in radians."""
    return _function("acos", "math.acos", math.acos, x)


def atan(x: Operand) -> Any:
    """Inverse tangent, in radians."""
    return _function("atan", "math.atan", math.atan, x)


def atan2(y: Operand, x: Operand) -> Any:
    """The angle of the point (x, y), in radians."""
    return _function("atan2", "math.atan2", math.atan2, y, x)


def sinh(x: Operand) -> Any:
    """Hyperbolic sine."""
    return _function("sinh", "math.sinh", math.sinh, x)


def cosh(x: Operand) -> Any:
    """Hyperbolic cosine."""
    return _function("cosh", "math.cosh", math.cosh, x)


def tanh(x: Operand) -> Any:
    """Hyperbolic tangent."""
    return _function("tanh", "math.tanh", math.tanh, x)


def erf(x: Operand) -> Any:
    """Gauss error function."""
    return _function("erf", "math.erf", math.erf, x)


def sigmoid(x: Operand) -> Any:
    """``1 / (1 + exp(-x))``; computed in float32 for narrower floats, and rounded once."""
    if is_number(x):
        return 1.0 / (1.0 + math.exp(-x))  # type: ignore[operator]
    operands = float_operands("sigmoid", x)
    dtype = operands.dtype
    wide = astype(operands.result(operands.handles[0]), float32 if dtype.bits < 32 else dtype)
    return astype(1.0 / (1.0 + exp(-wide)), dtype)


def fma(x: Operand, y: Operand, z: Operand) -> Any:
    """``x * y + z``, rounded once."""
    if numbers((x, y, z)):
        return x * y + z  # type: ignore[operator]
    return float_operands("fma", x, y, z).op("math.fma")


def copysign(x: Operand, y: Operand) -> Any:
    """The magnitude of ``x`` with the sign of ``y``."""
    return _function("copysign", "math.copysign", math.copysign, x, y)


def _rounded(what: str, name: str, python: Callable[[Any], Any], x: Operand) -> Any:
    if is_number(x):
        return float(python(x)) if isinstance(x, float) and math.isfinite(x) else x
    operands = arithmetic(what, x)
    return operands.op(name) if operands.dtype.is_float else x


def floor(x: Operand) -> Any:
    """The largest integral value not above ``x``; integers stay as they are."""
    return _rounded("floor", "math.floor", math.floor, x)


def ceil(x: Operand) -> Any:
    """The smallest integral value not below ``x``; integers stay as they are."""
    return _rounded("ceil", "math.ceil", math.ceil, x)


def round(x: Operand) -> Any:
    """The nearest integral value, halves to even; integers stay as they are."""
    return _rounded("round", "math.roundeven", lambda x: float(builtins.round(x)), x)


def trunc(x: Operand) -> Any:
    """``x`` without its fraction; integers stay as they are."""
    return _rounded("trunc", "math.trunc", math.trunc, x)


def pow(x: Operand, y: Operand) -> Any:
    """``x ** y``; an integer tile takes a compile-time exponent of at least 0.

    Raises:
        TypeMismatchError: An integer to a negative or run-time power.
    """
    if numbers((x, y)):
        return x**y  # type: ignore[operator]
    operands = arithmetic("**", x, y)
    if operands.dtype.is_float:
        return multiply(x, x) if is_number(y) and y == 2 else float_op(operands, "math.powf")
    if not is_number(y) or y < 0:  # type: ignore[operator]
        raise TypeMismatchError(
            f"{operands.dtype} takes a compile-time exponent of at least 0",
            hint="convert the base first: x.to(tl.float32) ** y",
        )
    return _integer_power(operands, int(y))  # type: ignore[arg-type]


def _integer_power(operands: Unified, exponent: int) -> Any:
    result: Any = None
    square = operands.result(operands.handles[0])
    while exponent:
        if exponent & 1:
            result = square if result is None else multiply(result, square)
        exponent >>= 1
        if exponent:
            square = multiply(square, square)
    return operands.result(operands.constant(1)) if result is None else result


def _classify(what: str, predicate: str, other: Callable[[Unified], Any], x: Operand) -> Any:
    operands = float_operands(what, x)
    left = (
        operands.handles[0]
        if what == "isnan"
        else absolute(operands.result(operands.handles[0])).handle
    )
    handle = compare_handles(
        operands.emitter, "arith.cmpf", CMPF[predicate], left, other(operands), operands.shape
    )
    return operands.result(handle, bool_)


def isnan(x: Operand) -> Any:
    """Whether an element is not a number."""
    if is_number(x):
        return math.isnan(x)  # type: ignore[arg-type]
    return _classify("isnan", "uno", lambda operands: operands.handles[0], x)


def isinf(x: Operand) -> Any:
    """Whether an element is infinite."""
    if is_number(x):
        return math.isinf(x)  # type: ignore[arg-type]
    return _classify("isinf", "oeq", lambda operands: operands.constant(math.inf), x)


def isfinite(x: Operand) -> Any:
    """Whether an element is neither infinite nor NaN."""
    if is_number(x):
        return math.isfinite(x)  # type: ignore[arg-type]
    return _classify("isfinite", "olt", lambda operands: operands.constant(math.inf), x)


def logical_not(x: Operand) -> Any:
    """``not x``, element by element."""
    return bitwise("^", x != 0, True)
