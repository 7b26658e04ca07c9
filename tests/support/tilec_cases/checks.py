"""How results are compared with references."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
UNIT = {F16: 2.0**-11, BF16: 2.0**-8, F32: 2.0**-24, F64: 2.0**-53}
#: Half the distance of neighbouring subnormals.
TINY = {F16: 2.0**-25, BF16: 2.0**-134, F32: 2.0**-150, F64: 0.0}


FP8_SUM = 2.0**-10
"""Of the terms' sizes: tensor cores keep fewer digits of sums of 8-bit floats (numerics.md)."""


def double(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(np.float64)


def assert_exact(found: Any, expected: Any) -> None:
    """Bit-equal: NaN where NaN is due, zeros with their sign."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected)
        return
    found, expected = double(found), double(expected)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def assert_within(found: Any, expected: Any, allowed: Any) -> None:
    """No element further than ``allowed`` from the reference, none NaN where it is not."""
    found, expected = double(np.asarray(found)), double(np.asarray(expected))
    assert found.shape == expected.shape
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        close = np.abs(found - expected) <= allowed
    wrong = np.argwhere(~(same | close))
    assert wrong.size == 0, (
        f"{len(wrong)} of {found.size} elements off; the first at {tuple(wrong[0])}: "
        f"{found[tuple(wrong[0])]!r}, expected {expected[tuple(wrong[0])]!r}"
    )


def assert_product(found: Any, a: Any, b: Any, *more: tuple[Any, Any]) -> None:
    """A sum of matrix products, accumulated in f32 and rounded to the result's type."""
    exact, size = 0.0, 0.0
    inner = 0
    for left, right in ((a, b), *more):
        exact = exact + double(left) @ double(right)
        size = size + np.abs(double(left)) @ np.abs(double(right))
        inner += left.shape[-1]
    unit = UNIT[np.asarray(found).dtype]
    assert_within(found, exact, 4 * inner * 2.0**-24 * size + unit * np.abs(exact))
