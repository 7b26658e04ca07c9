"""Fits the polynomials of Coefficients.h; its output, formatted by clang-format, is that file.

Each is the interpolant at the Chebyshev nodes of an interval, whose error is within a small factor
of the best polynomial's; the degree is the lowest that keeps the error of the *function* below a
fraction of an ulp. Needs mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 60
Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """A polynomial to find.

    Attributes:
        name: of the table.
        what: the approximated expression, as the comment says it.
        function: the same, to be evaluated at high precision.
        low, high: the interval of the polynomial's variable.
        share: how much of the polynomial's error reaches the result, relative to it.
        guard_bits: how far below half an ulp the error must stay.
    """

    name: str
    what: str
    function: Function
    low: float
    high: float
    share: float
    guard_bits: int = 4


def odd(function: Function, order: int = 3) -> Function:
    """``(f(t) - t) / t^3`` as a function of ``u = t^2``."""

    def quotient(u: mpf) -> mpf:
        t = mp.sqrt(u)
        return (function(t) - t) / t**order

    return quotient


def tail_of_atanh(u: mpf) -> mpf:
    """The series of atanh from the fifth power on."""
    s = mp.sqrt(u)
    return (mp.atanh(s) - s - s**3 / 3) / s**5


PI_4 = float(mp.pi / 4) + 6e-3  # rounding may choose the neighbouring quadrant
LN2_2 = float(mp.log(2) / 2) + 1e-3

COMMON = [
    Fit("kExpm1", "(expm1(r) - r) / r^2", lambda r: (mp.expm1(r) - r) / r**2, -LN2_2, LN2_2, 0.36),
    Fit("kSin", "(sin(r) - r) / r^3, u = r^2", odd(mp.sin), 0, PI_4**2, 0.7),
    Fit(
        "kCos",
        "(cos(r) - 1 + u / 2) / u^2, u = r^2",
        lambda u: (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u**2,
        0,
        PI_4**2,
        0.55,
    ),
    Fit("kTan", "(tan(r) - r) / r^3, u = r^2", odd(mp.tan), 0, PI_4**2, 0.5),
    Fit("kAsin", "(asin(t) - t) / t^3, u = t^2", odd(mp.asin), 0, 0.25, 0.25),
    Fit("kAtan", "(atan(t) - t) / t^3, u = t^2", odd(mp.atan), 0, 1, 1.3, 3),
    Fit("kSinh", "(sinh(t) - t) / t^3, u = t^2", odd(mp.sinh), 0, 1, 0.85),
    Fit("kTanh", "(tanh(t) - t) / t^3, u = t^2", odd(mp.tanh), 0, 0.36, 0.4),
    Fit(
        "kErf", "erf(t) / t - 1, u = t^2", lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1, 0, 1, 1.2
    ),
    Fit("kAtanh", "(atanh(s) - s - s^3 / 3) / s^5, u = s^2", tail_of_atanh, 0, 0.0402, 0.0017),
]
SINGLE = [
    Fit(
        "kLog1p",
        "(log1p(f) - f + f^2 / 2) / f^3",
        lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3,
        -1 / 3 - 1e-4,
        1 / 3 + 1e-4,
        0.13,
    ),
    Fit("kErfc", "log2(erfc(1 + t))", lambda t: mp.log(mp.erfc(1 + t), 2), 0, 3, 0.11, 2),
]
DOUBLE = [
    Fit("kErfc", "log(erfc(1 + t))", lambda t: mp.log(mp.erfc(1 + t)), 0, 5, 0.16, 2),
]


def interpolate(fit: Fit, degree: int) -> list[mpf]:
    """Coefficients of the interpolant, the constant first."""
    middle, half = (mpf(fit.low) + mpf(fit.high)) / 2, (mpf(fit.high) - mpf(fit.low)) / 2
    nodes = [
        middle + half * mp.cos(mp.pi * (2 * i + 1) / (2 * (degree + 1))) for i in range(degree + 1)
    ]
    matrix = mp.matrix(degree + 1, degree + 1)
    for row, node in enumerate(nodes):
        for column in range(degree + 1):
            matrix[row, column] = node**column
    return list(mp.lu_solve(matrix, mp.matrix([fit.function(node) for node in nodes])))


def error(fit: Fit, coefficients: list[mpf]) -> mpf:
    """The largest error on the interval."""
    points = [fit.low + (fit.high - fit.low) * (i + mpf(1) / 3) / 100 for i in range(100)]
    return max(abs(mp.polyval(coefficients[::-1], x) - fit.function(x)) for x in points)


def solve(fit: Fit, bits: int) -> list[mpf]:
    """The interpolant of the lowest sufficient degree."""
    bound = mpf(2) ** -(bits + fit.guard_bits)
    for degree in range(1, 40):
        coefficients = interpolate(fit, degree)
        if error(fit, coefficients) * fit.share < bound:
            return coefficients
    raise ValueError(f"{fit.name} needs a degree above 40")


def print_tables(namespace: str, fits: list[Fit], bits: int, digits: int) -> None:
    """Print a C++ table for each fit."""
    print(f"namespace {namespace} {{")
    for fit in fits:
        print(f"/// {fit.what}; {fit.low:.4g} to {fit.high:.4g}.")
        print(f"inline constexpr double {fit.name}[] = {{")
        for value in solve(fit, bits):
            print(f"    {mp.nstr(value, digits, min_fixed=0, max_fixed=0)},")
        print("};")
    print(f"}} // namespace {namespace}")


print("//===- Coefficients.h - Polynomials of ExpandMath ---------------*- C++ -*-===//")
print("//")
print("// Written by fit_coefficients.py. The constant term comes first.")
print("//")
print("//===----------------------------------------------------------------------===//")
print("#ifndef TILEC_TILEGPU_TRANSFORMS_COEFFICIENTS_H")
print("#define TILEC_TILEGPU_TRANSFORMS_COEFFICIENTS_H\n")
print("namespace tilec::tilegpu::coefficients {\n")
print_tables("single", COMMON + SINGLE, 24, 12)
print()
print_tables("twice", COMMON + DOUBLE, 53, 21)
print("\n} // namespace tilec::tilegpu::coefficients\n")
print("#endif // TILEC_TILEGPU_TRANSFORMS_COEFFICIENTS_H")
