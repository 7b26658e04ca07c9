"""Float arithmetic of ``arith`` and the functions of ``math``.

Addition, multiplication, division and the square root are NumPy's (IEEE, in the operands' type; an
8-bit float is computed in f32); every other function is evaluated in f64 and rounded once.
"""

# NumPy's stubs leave most of its functions partly unknown: no strict checks here.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tilec.execute import numerics
from tilec.execute.lower import tile_type
from tilec.execute.numerics import Array, by_element, in_double, in_single
from tilec.execute.registry import Operation, PureHandler, pure, pure_table

_NATIVE: dict[str, Callable[..., Array]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.negf": np.negative,
    "arith.maximumf": numerics.maximum,
    "arith.minimumf": numerics.minimum,
    "arith.maxnumf": numerics.maximum_number,
    "arith.minnumf": numerics.minimum_number,
    "math.absf": np.absolute,
    "math.ceil": np.ceil,
    "math.floor": np.floor,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
    "math.round": numerics.round_half_away,
    "math.sqrt": np.sqrt,
    "math.copysign": np.copysign,
    "math.fma": numerics.fma,
    "math.clampf": lambda x, low, high: numerics.minimum(numerics.maximum(x, low), high),
}


def _native(function: Callable[..., Array]) -> PureHandler:
    def handler(op: Operation) -> Callable[..., Array]:
        is_float8 = tile_type(op.results[0]).dtype in numerics.FLOAT8
        return in_single(function) if is_float8 else function

    return handler


for _name, _function in _NATIVE.items():
    pure(_name)(_native(_function))

pure_table(
    {
        "math.isnan": np.isnan,
        "math.isinf": np.isinf,
        "math.isfinite": np.isfinite,
        "math.isnormal": lambda x: np.isfinite(x) & (abs(x) >= _smallest_normal(x)),
    }
)


def _smallest_normal(value: Array) -> Array:
    return numerics.smallest_normal(value.dtype)


_IN_DOUBLE: dict[str, Callable[..., Array]] = {
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.rsqrt": lambda x: 1.0 / np.sqrt(x),
    "math.cbrt": np.cbrt,
    "math.sin": np.sin,
    "math.cos": np.cos,
    "math.tan": np.tan,
    "math.asin": np.arcsin,
    "math.acos": np.arccos,
    "math.atan": np.arctan,
    "math.atan2": np.arctan2,
    "math.sinh": np.sinh,
    "math.cosh": np.cosh,
    "math.tanh": np.tanh,
    "math.asinh": np.arcsinh,
    "math.acosh": np.arccosh,
    "math.atanh": np.arctanh,
    "math.powf": np.power,
    "math.fpowi": np.power,
    "math.erf": by_element(math.erf),
    "math.erfc": by_element(math.erfc),
}
pure_table({name: in_double(function) for name, function in _IN_DOUBLE.items()})
pure_table({"math.sincos": lambda x: (in_double(np.sin)(x), in_double(np.cos)(x))})


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def _always(holds: bool) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.full(np.broadcast(a, b).shape, holds)


def _not(compare: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: np.logical_not(compare(a, b))


def _less_or_greater(a: Array, b: Array) -> Array:
    return np.less(a, b) | np.greater(a, b)


#: In the order of ``arith.CmpFPredicate``; an unordered one is the negation of its opposite.
_PREDICATES: tuple[Callable[[Array, Array], Array], ...] = (
    _always(False),
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    _less_or_greater,
    _not(_unordered),
    _not(_less_or_greater),
    _not(np.less_equal),
    _not(np.less),
    _not(np.greater_equal),
    _not(np.greater),
    np.not_equal,
    _unordered,
    _always(True),
)


@pure("arith.cmpf")
def _compare(op: Operation) -> Callable[..., Array]:
    return _PREDICATES[op.attributes["predicate"].value]
