"""The elementary functions: inputs that stress them, what they should return, how far off they are.

The bounds are those of docs/numerics.md, so that the page cannot drift from what is tested.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath
import numpy as np

NUMERICS = Path(__file__).resolve().parents[3] / "docs" / "numerics.md"
WIDE = np.longdouble
"""x86's 80-bit format: 11 bits more than float64."""


def elementwise(function):
    """A scalar function on float64, made one on arrays."""
    return np.vectorize(function, otypes=[np.float64])


def erf_wide(x):
    """Erf to more than float64, as a sum of two float64 numbers."""
    with mpmath.workprec(120):

        def one(value):
            exact = mpmath.erf(mpmath.mpf(float(value)))
            high = float(exact)
            if high == 0 or not math.isfinite(high):
                return WIDE(value) if value == 0 else WIDE(high)
            return WIDE(high) + WIDE(float(exact - mpmath.mpf(high)))

        return np.array([one(value) for value in np.ravel(x)], WIDE).reshape(np.shape(x))


@dataclass(frozen=True)
class Case:
    """One function.

    Attributes:
        reference: the function on arrays of a wider format.
        reference_f64: the same for float64 inputs, where numpy's long double has no such function.
        domain: where inputs are taken from, densely; beyond it come random bit patterns.
        limit: the magnitude up to which the bound holds, by width; None: everywhere.
    """

    reference: Callable
    domain: tuple[float, float]
    reference_f64: Callable | None = None
    limit: dict[int, float] | None = None
    arity: int = 1


ANGLES = {32: 2.0**17, 64: 2.0**45}
CASES = {
    "exp": Case(np.exp, (-105, 90)),
    "exp2": Case(np.exp2, (-150, 129)),
    "expm1": Case(np.expm1, (-20, 90)),
    "log": Case(np.log, (0, 4)),
    "log2": Case(np.log2, (0, 4)),
    "log10": Case(np.log10, (0, 4)),
    "log1p": Case(np.log1p, (-1, 3)),
    "sin": Case(np.sin, (-100, 100), limit=ANGLES),
    "cos": Case(np.cos, (-100, 100), limit=ANGLES),
    "tan": Case(np.tan, (-100, 100), limit=ANGLES),
    "asin": Case(np.arcsin, (-1, 1)),
    "acos": Case(np.arccos, (-1, 1)),
    "atan": Case(np.arctan, (-5, 5)),
    "sinh": Case(np.sinh, (-90, 90)),
    "cosh": Case(np.cosh, (-90, 90)),
    "tanh": Case(np.tanh, (-10, 10)),
    "erf": Case(elementwise(math.erf), (-6, 6), reference_f64=erf_wide),
    "rsqrt": Case(lambda x: 1 / np.sqrt(x), (0, 10)),
    "sqrt": Case(np.sqrt, (0, 10)),
    "atan2": Case(np.arctan2, (-5, 5), arity=2),
    "powf": Case(np.power, (0, 8), arity=2),
    "remf": Case(np.fmod, (-100, 100), arity=2),
}

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e-30, -1e-30, 1e30, -1e30]
SPECIAL += [math.inf, -math.inf, math.nan]


def specials(dtype):
    """Zeros, infinities, NaN, the ends of the subnormal and the normal range, and some integers."""
    info = np.finfo(dtype)
    ends = [info.max, info.tiny, info.smallest_subnormal, info.tiny - info.smallest_subnormal]
    return np.array(SPECIAL + [sign * float(end) for end in ends for sign in (1, -1)], dtype)


def inputs(case, dtype, count, seed=7):
    """Arguments of a case: dense over its domain, over all magnitudes, and special."""
    rng = np.random.default_rng(seed)

    def some(low, high):
        dense = rng.uniform(low, high, count).astype(dtype)
        bits = rng.integers(0, 1 << 8 * dtype().itemsize, count, np.uint64)
        anywhere = bits.astype(f"u{dtype().itemsize}").view(dtype)
        near = (rng.choice([-1, 1], count) * 2 ** rng.uniform(-30, 8, count)).astype(dtype)
        ones = (1 + rng.choice([-1, 1], count) * 2 ** rng.uniform(-24, -1, count)).astype(dtype)
        return np.concatenate([dense, anywhere, near, ones, specials(dtype)])

    columns = [some(*case.domain) for _ in range(case.arity)]
    if case.arity == 2:
        known = specials(dtype)
        grid = [part.ravel() for part in np.meshgrid(known, known)]
        pairs = zip(columns, grid, strict=True)
        columns = [np.concatenate([column, part]) for column, part in pairs]
    assert all(column.dtype == dtype for column in columns)
    return columns


def expected(case, columns):
    """The results in a wider format than the inputs'."""
    wide = np.float64 if columns[0].dtype.itemsize < 8 else WIDE
    function = case.reference
    if wide is WIDE and case.reference_f64 is not None:
        function = case.reference_f64
    with np.errstate(all="ignore"):
        return function(*(column.astype(wide) for column in columns))


def ulp_errors(got, exact, dtype):
    """Distance from the exact results in units of the last place; special values count 0 or inf."""
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        magnitude = np.maximum(np.abs(exact), exact.dtype.type(info.tiny))
        exponent = np.floor(np.log2(magnitude)).astype(int)
        unit = np.ldexp(exact.dtype.type(1), exponent - info.nmant)
        error = np.abs(got.astype(exact.dtype) - exact) / unit
    special = ~np.isfinite(rounded) | ~np.isfinite(got) | (exact == 0)
    same = (np.isnan(got) & np.isnan(rounded)) | (
        (got == rounded) & (np.signbit(got) == np.signbit(rounded))
    )
    # Overflow within the bound of the largest number is no error of its own.
    edge = np.isinf(rounded) & np.isfinite(exact) & (np.abs(got) >= info.max)
    edge |= np.isinf(got) & (np.abs(rounded) >= info.max * (1 - 4 * float(info.eps)))
    return np.where(special & ~edge, np.where(same, 0.0, np.inf), np.where(edge, 0.0, error))


def within_limit(case, columns, dtype):
    """Which inputs the bound is stated for."""
    inside = np.ones(columns[0].shape, bool)
    if case.limit is not None:
        for column in columns:
            with np.errstate(all="ignore"):
                inside &= ~(np.abs(column) >= case.limit[8 * dtype().itemsize])
    return inside


def bounds():
    """Ulp bounds by (function, dtype name), read from the table of docs/numerics.md."""
    found = {}
    for line in NUMERICS.read_text().splitlines():
        match = re.match(r"\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \|", line)
        if match:
            found[match[1], "f32"] = float(match[2])
            found[match[1], "f64"] = float(match[3])
    return found
