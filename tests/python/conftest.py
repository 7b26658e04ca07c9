"""Tracing for tests: argument specs in short, the module as text, runs on the CPU executor."""

import linecache
from dataclasses import dataclass

import numpy as np
import pytest
from carets import text_above_caret

import tilec as tl
from tilec.execute import execute
from tilec.lang.dtypes import as_dtype
from tilec.trace.signature import (
    ConstantSpec,
    ScalarSpec,
    Signature,
    TupleSpec,
    ViewSpec,
    scalar_dtype,
)
from tilec.trace.tracer import trace


def view(dtype, rank, tile_shape=None, access=None):
    """A view argument with a unit last stride; a partition if it has a tile shape."""
    return ViewSpec(
        dtype=dtype,
        rank=rank,
        access=access or ("read" if tile_shape is None else "exclusive"),
        unit_strides=(False,) * (rank - 1) + (True,) * (rank > 0),
        divisible=(1,) * rank,
        stride_align=(dtype.itemsize_bytes,) * rank,
        align=16,
        index_bits=32,
        tile_shape=tile_shape,
    )


@dataclass
class Part:
    """An output array and its tile shape."""

    array: np.ndarray
    tile_shape: tuple


def array_spec(array, tile_shape=None):
    """The weakest spec of an array."""
    dtype = as_dtype(array.dtype)
    return ViewSpec(
        dtype=dtype,
        rank=array.ndim,
        access="read" if tile_shape is None else "exclusive",
        unit_strides=tuple(stride == array.itemsize for stride in array.strides),
        divisible=(1,) * array.ndim,
        stride_align=(dtype.itemsize_bytes,) * array.ndim,
        align=1,
        index_bits=64,
        tile_shape=tile_shape,
    )


def described(argument):
    """The spec of an argument, and its flat run-time values."""
    if isinstance(argument, Part):
        return array_spec(argument.array, argument.tile_shape), [argument.array]
    if isinstance(argument, np.ndarray):
        return array_spec(argument), [argument]
    if isinstance(argument, ConstantSpec):
        return argument, []
    if isinstance(argument, tuple):
        items = [described(item) for item in argument]
        values = [value for _, values in items for value in values]
        return TupleSpec(tuple(spec for spec, _ in items)), values
    return ScalarSpec(scalar_dtype(argument)), [argument]


class Tools:
    """What the tests of this folder share."""

    view = staticmethod(view)
    scalar = staticmethod(ScalarSpec)
    constant = staticmethod(ConstantSpec)

    part = Part

    @staticmethod
    def run(function, *arguments, grid=None):
        """Trace a kernel for these arguments and run it on the CPU executor."""
        specs, values = Tools.flat(*arguments)
        Tools.execute(function, specs, values, grid)

    @staticmethod
    def flat(*arguments):
        """The specs of arguments, and the flat run-time values."""
        items = [described(argument) for argument in arguments]
        return [spec for spec, _ in items], [value for _, found in items for value in found]

    @staticmethod
    def execute(function, specs, values, grid=None):
        """Trace a kernel for these specs and run it on flat run-time values."""
        execute(Tools.bytecode(function, *specs), values, grid)

    @staticmethod
    def refused(kernel, *more):
        """What the error of ``kernel(y, x, ...)`` says: y and x are float32 vectors, tile 8.

        Returns:
            The message, the source line, the text above the caret, the notes with their text, the
            hint.
        """
        y, x = view(tl.float32, 1, (8,)), view(tl.float32, 1)
        error = Tools.error(kernel, y, x, *more)
        span = error.frames[0].span
        return (
            error.message,
            linecache.getline(span.file, span.line).strip(),
            text_above_caret(span),
            [f"{note.text} ({text_above_caret(note.span)})" for note in error.notes],
            error.hint,
        )

    @staticmethod
    def bytecode(function, *specs):
        return trace(function, function.__name__, Signature(specs)).bytecode

    @staticmethod
    def text(function, *specs):
        from tilec._mlir import ir

        with ir.Context():
            return str(ir.Module.parse(Tools.bytecode(function, *specs)))

    @staticmethod
    def locations(function, *specs):
        """The name and the location of every op from the kernel on, nested ones included."""
        from tilec._mlir import ir

        found = []

        def visit(operation):
            found.append((operation.name, str(operation.location)))
            return ir.WalkResult.ADVANCE

        with ir.Context():
            module = ir.Module.parse(Tools.bytecode(function, *specs))
            module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        return found

    @staticmethod
    def ops(function, *specs):
        """The names of the ops inside the kernel, in order, nested ones included."""
        return [name for name, _ in Tools.locations(function, *specs)][2:]

    @staticmethod
    def error(function, *specs):
        """The error of a trace that must be refused, without the place of the launch."""
        with pytest.raises(tl.TilecError) as caught:
            trace(function, function.__name__, Signature(specs))
        return caught.value


@pytest.fixture
def tools():
    return Tools
