"""Tracing for tests: argument specs in short, the module as text."""

import pytest

import tilec as tl
from tilec.trace.signature import ConstantSpec, ScalarSpec, Signature, ViewSpec
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


class Tools:
    """What the tests of this folder share."""

    view = staticmethod(view)
    scalar = staticmethod(ScalarSpec)
    constant = staticmethod(ConstantSpec)

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
