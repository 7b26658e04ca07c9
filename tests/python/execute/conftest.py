"""Kernels written as `tile` IR, so that the executor is tested without the tracer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilec.execute import execute
from tilec.execute.types import DTYPES

ELEMENTS = {dtype: name for name, dtype in DTYPES.items() if name not in ("tf32", "index", "i1")}


def element_of(array: np.ndarray[Any, Any]) -> str:
    if array.dtype.kind in "ub":
        return f"i{array.dtype.itemsize * 8}"
    return ELEMENTS[array.dtype]


def view_type(array: np.ndarray[Any, Any], access: str = "read") -> str:
    rank = array.ndim

    def each(what: str) -> str:
        return "[" + ", ".join([what] * rank) + "]"

    return (
        f"!tile.view<{'?x' * rank}{element_of(array)}, strides = {each('?')}, "
        f"divisible = {each('1')}, stride_align = {each('1')}, align = 1, index = 64, {access}>"
    )


def partition_type(array: np.ndarray[Any, Any], tile: tuple[int, ...]) -> str:
    extents = "x".join(map(str, tile))
    return f"!tile.partition<{extents} of {view_type(array, 'exclusive')}>"


def tile_type(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


class Ir:
    """Writes a kernel around a body."""

    view_type = staticmethod(view_type)
    partition_type = staticmethod(partition_type)
    tile_type = staticmethod(tile_type)

    @staticmethod
    def kernel(arguments: dict[str, str], body: str) -> bytes:
        signature = ", ".join(f"%{name}: {kind}" for name, kind in arguments.items())
        names = ", ".join(f'"{name}"' for name in arguments)
        return (
            f"tile.kernel @k({signature}) attributes {{arg_names = [{names}]}} {{\n"
            f"{body}\n  tile.return\n}}\n"
        ).encode()

    @classmethod
    def evaluate(
        cls,
        body: str,
        *operands: np.ndarray[Any, Any],
        out: np.ndarray[Any, Any] | None = None,
    ) -> np.ndarray[Any, Any]:
        """Run a body that makes ``%r`` of whole-array tiles ``%x0``, ``%x1`` …, and return it."""
        result = np.empty_like(operands[0]) if out is None else out
        inputs = {f"v{n}": view_type(array) for n, array in enumerate(operands)}
        part = partition_type(result, result.shape)
        lines = ["  %zero = arith.constant 0 : index"]
        for number, array in enumerate(operands):
            indices = ", ".join(["%zero"] * array.ndim)
            tile = tile_type(array.shape, element_of(array))
            lines.append(
                f"  %x{number} = tile.load %v{number}[{indices}] : {view_type(array)} -> {tile}"
            )
        lines.append(body)
        tile = tile_type(result.shape, element_of(result))
        lines.append(f"  tile.store %r, %y : {tile}, {part}")
        execute(cls.kernel({"y": part, **inputs}, "\n".join(lines)), [result, *operands])
        return result


@pytest.fixture
def ir() -> type[Ir]:
    return Ir


@pytest.fixture
def rng() -> np.random.Generator:
    """Fresh random numbers each run; pytest prints the seed when a test fails."""
    seed = int(np.random.SeedSequence().entropy) % 2**32
    print(f"seed {seed}")
    return np.random.default_rng(seed)
