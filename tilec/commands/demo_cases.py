"""The kernels of ``tilec demo``, with data and what NumPy says in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from tilec import kernels

Array: TypeAlias = Any
"""An array of NumPy, whose own types do not help here."""
Data: TypeAlias = tuple[Array, list[Array], Array]
"""Output, inputs, and the expected result in float64."""

_BF16_ULP = 2.0**-8
_F32_ULP = 2.0**-23


@dataclass(frozen=True)
class Case:
    """One kernel on one set of arrays.

    Attributes:
        name: for the table.
        place: the module with the kernel and its example arguments.
        function: launches it: output first.
        make: makes the data.
        tolerance: the largest error allowed, relative to the largest expected value.
    """

    name: str
    place: str
    function: Callable[..., None]
    make: Callable[[np.random.Generator], Data]
    tolerance: float


def _add(random: np.random.Generator) -> Data:
    x, y = (random.standard_normal((300, 1000)).astype(np.float32) for _ in range(2))
    return np.empty_like(x), [x, y], _wide(x) + y


def _wide(x: Array) -> Array:
    return x.astype(np.float64)


def _rows(random: np.random.Generator) -> Array:
    return random.standard_normal((64, 1185)).astype(ml_dtypes.bfloat16)


def _softmax(random: np.random.Generator) -> Data:
    x = _rows(random)
    powers = np.exp(_wide(x) - _wide(x).max(axis=1, keepdims=True))
    return np.empty_like(x), [x], powers / powers.sum(axis=1, keepdims=True)


def _layernorm(random: np.random.Generator) -> Data:
    x, weight, bias = _rows(random), _rows(random)[0], _rows(random)[1]
    wide = _wide(x)
    centered = wide - wide.mean(axis=1, keepdims=True)
    scaled = centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-5)
    expected = scaled * _wide(weight) + _wide(bias)
    return np.empty_like(x), [x, weight, bias], expected


def _rmsnorm(random: np.random.Generator) -> Data:
    x, weight = _rows(random), _rows(random)[0]
    wide = _wide(x)
    scaled = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-6)
    return np.empty_like(x), [x, weight], scaled * _wide(weight)


def _matmul(random: np.random.Generator) -> Data:
    a = random.standard_normal((200, 160)).astype(ml_dtypes.bfloat16)
    b = random.standard_normal((160, 136)).astype(ml_dtypes.bfloat16)
    c = np.empty((200, 136), np.float32)
    return c, [a, b], _wide(a) @ _wide(b)


def _transpose(random: np.random.Generator) -> Data:
    x = random.standard_normal((100, 257)).astype(np.float32)
    return np.empty((257, 100), np.float32), [x], _wide(x).T


def _row_sum(random: np.random.Generator) -> Data:
    x = random.standard_normal((100, 3000)).astype(np.float32)
    return np.empty(100, np.float32), [x], _wide(x).sum(axis=1)


def _column_sum(random: np.random.Generator) -> Data:
    x = random.standard_normal((300, 257)).astype(np.float32)
    return np.empty(257, np.float32), [x], _wide(x).sum(axis=0)


def _case(
    name: str,
    make: Callable[[np.random.Generator], Data],
    tolerance: float,
    place: str | None = None,
) -> Case:
    function = getattr(kernels, name)
    return Case(name, place or function.__module__, function, make, tolerance)


CASES = (
    _case("add", _add, _F32_ULP),
    _case("softmax", _softmax, _BF16_ULP),
    _case("layernorm", _layernorm, _BF16_ULP),
    _case("rmsnorm", _rmsnorm, _BF16_ULP),
    _case("matmul", _matmul, 160 * _F32_ULP),
    _case("transpose", _transpose, 0.0),
    _case("row_sum", _row_sum, 3000 * _F32_ULP, "tilec.kernels.sums::row_sum_kernel"),
    _case("column_sum", _column_sum, 300 * _F32_ULP, "tilec.kernels.sums::column_sum_kernel"),
)
