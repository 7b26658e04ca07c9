"""Ops of `tile`, arith and scf: what a program computes, without warps."""

from __future__ import annotations

import math
import re
from typing import Any

from warp_roles.clock import Run
from warp_roles.cta import Frame
from warp_roles.kernel import Kernel, Runner, Step, is_tile, reads, run, step, tile_of
from warp_roles.products import accumulated
from warp_roles.scalars import function_of
from warp_roles.terms import POISON, Term, added, constant, plain, transposed

IGNORED = {"operandSegmentSizes", "tilegpu.shared_offset", "overflowFlags"}


def detail_of(op: Any) -> Any:
    """Whatever of an op decides its result besides its operands."""
    names = sorted(set(op.attributes) - IGNORED)
    attributes = tuple((name, plain(str(op.attributes[name]))) for name in names)
    inside = tuple(
        inner.operation.name for region in op.regions for b in region.blocks for inner in b
    )
    return attributes, tuple(plain(str(result.type)) for result in op.results), inside


@step("*")
def any_op(op: Any, kernel: Kernel) -> Step:
    operands, results = kernel.numbers(op.operands), kernel.numbers(op.results)
    if function := function_of(op):
        (result,) = results

        def compute(frame: Frame) -> None:
            values = frame.values
            values[result] = function(*[values[operand] for operand in operands])

        return compute
    assert all(map(is_tile, op.results)), f"{op.name} has no rule: {op}"
    name, detail = op.name, detail_of(op)
    if name.startswith(("arith.", "math.")):  # the same for a part of a tile
        detail = re.sub(r"tensor<[\dx]+x", "tensor<", str(detail))

    def build(frame: Frame) -> None:
        terms = reads(frame, operands)
        for place, result in enumerate(results):
            frame.values[result] = Term.of(name, (place, detail), *terms)

    return build


@step("tile.reshape")
def reshape(op: Any, kernel: Kernel) -> Step:
    """The same tile where dimensions of extent 1 come and go."""
    wide = [[n for n in value.type.shape if n != 1] for value in (*op.operands, *op.results)]
    if wide[0] != wide[1]:
        return any_op(op, kernel)
    (source,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)

    def execute(frame: Frame) -> None:
        frame.values[result] = tile_of(frame, frame.values[source])

    return execute


@step("arith.constant")
def constants(op: Any, kernel: Kernel) -> Step:
    value = op.attributes["value"]
    if is_tile(op.results[0]):
        known: Any = constant(str(value))
    elif str(op.results[0].type) == "i1":
        known = int(str(value) in ("true", "-1 : i1", "1 : i1"))
    else:
        known = value.value
    kernel.constant(op.results[0], known)
    return lambda frame: None


@step("ub.poison")
def poison(op: Any, kernel: Kernel) -> Step:
    kernel.constant(op.results[0], POISON)
    return lambda frame: None


# -- control flow ----------------------------------------------------------------------------------


@run("scf.for")
def loop(op: Any, kernel: Kernel) -> Runner:
    lower, upper, by, *initial = kernel.numbers(op.operands)
    results, body = kernel.numbers(op.results), kernel.region(op, 0)
    induction, *carried = body.arguments

    def execute(frame: Frame) -> Run:
        values = frame.values
        current = [values[number] for number in initial]
        for turn in range(values[lower], values[upper], values[by]):
            values[induction] = turn
            for number, value in zip(carried, current, strict=True):
                values[number] = value
            yield from body.run(frame)
            current = body.outcome(frame)
        for number, value in zip(results, current, strict=True):
            values[number] = value

    return execute


@run("scf.if")
def branch(op: Any, kernel: Kernel) -> Runner:
    (condition,) = kernel.numbers(op.operands)
    results, regions = kernel.numbers(op.results), [kernel.region(op, 0), kernel.region(op, 1)]

    def execute(frame: Frame) -> Run:
        taken = regions[0 if frame.values[condition] else 1]
        if taken is not None:
            yield from taken.run(frame)
            for number, value in zip(results, taken.outcome(frame), strict=True):
                frame.values[number] = value

    return execute


# -- views -----------------------------------------------------------------------------------------


@step("tile.view_of", "tile.view_cast")
def same_view(op: Any, kernel: Kernel) -> Step:
    (source,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)

    def execute(frame: Frame) -> None:
        frame.values[result] = frame.values[source]

    return execute


@step("tile.permute_view")
def permute_view(op: Any, kernel: Kernel) -> Step:
    (source,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)
    order = list(op.attributes["order"])

    def execute(frame: Frame) -> None:
        frame.values[result] = frame.values[source].permuted(order)

    return execute


@step("tile.dim", "tile.num_tiles")
def extent(op: Any, kernel: Kernel) -> Step:
    (source,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)
    dim = op.attributes["dim"].value
    tile = op.attributes["tile"].value if op.name == "tile.num_tiles" else 1

    def execute(frame: Frame) -> None:
        view = frame.values[source]
        frame.values[result] = math.ceil(view.shape[view.dims[dim]] / tile)

    return execute


@step("tile.program_id", "tile.num_programs")
def program_id(op: Any, kernel: Kernel) -> Step:
    (result,) = kernel.numbers(op.results)
    is_id = op.name == "tile.program_id"

    def execute(frame: Frame) -> None:
        frame.values[result] = frame.cta.number if is_id else frame.cta.count

    return execute


@step("tile.index")
def index(op: Any, kernel: Kernel) -> Step:
    results = kernel.numbers(op.results)

    def execute(frame: Frame) -> None:
        for number, coordinate in zip(results, frame.cta.tile, strict=True):
            frame.values[number] = coordinate

    return execute


@step("tile.permute")
def permute(op: Any, kernel: Kernel) -> Step:
    (source,), (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)
    order = tuple(op.attributes["order"])

    def execute(frame: Frame) -> None:
        tile = tile_of(frame, frame.values[source])
        frame.values[result] = (
            transposed(tile) if order == (1, 0) else Term.of("permute", order, tile)
        )

    return execute


# -- memory ----------------------------------------------------------------------------------------


@step("tile.load")
def load(op: Any, kernel: Kernel) -> Step:
    view, *rest = kernel.numbers(op.operands)
    (result,) = kernel.numbers(op.results)
    shape = tuple(op.results[0].type.shape)
    sizes = list(op.attributes["operandSegmentSizes"])
    indices, pads = rest[: sizes[1]], rest[sizes[1] :]
    by = list(op.attributes["step"]) if "step" in op.attributes else list(shape)

    def execute(frame: Frame) -> None:
        values = frame.values
        offsets = [values[index] * extent for index, extent in zip(indices, by, strict=True)]
        pad = values[pads[0]] if pads else None
        values[result] = values[view].load(offsets, shape, pad)

    return execute


@step("tile.store")
def store(op: Any, kernel: Kernel) -> Step:
    value, view, *indices = kernel.numbers(op.operands)
    shape = tuple(op.operands[0].type.shape)
    step = tuple(op.attributes["step"]) if "step" in op.attributes else shape

    def execute(frame: Frame) -> None:
        values, cta = frame.values, frame.cta
        place = [values[index] for index in indices] or cta.tile
        offsets = [index * extent for index, extent in zip(place, step, strict=True)]
        term = tile_of(frame, values[value])
        cta.store(values[view].place(offsets), frame.warp, cta.warps, term)

    return execute


def product_detail(op: Any) -> tuple[bool, ...]:
    return tuple(name in op.attributes for name in ("allow_tf32", "lhs_unsigned", "rhs_unsigned"))


@step("tile.mma")
def product(op: Any, kernel: Kernel) -> Step:
    operands, (result,) = kernel.numbers(op.operands), kernel.numbers(op.results)
    detail = product_detail(op)

    def execute(frame: Frame) -> None:
        lhs, rhs, acc = reads(frame, operands)
        product_of_both = Term.of("product", detail, lhs, rhs)
        frame.values[result] = added(accumulated(acc, True, acc), product_of_both)

    return execute
