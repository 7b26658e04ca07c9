"""Layouts written by hand for tests of the lowering, and the texts of types that carry them."""

from __future__ import annotations

from dataclasses import dataclass

Basis = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    registers: tuple[Basis, ...]
    lanes: tuple[Basis, ...]
    warps: tuple[Basis, ...]
    repeat: tuple[int, ...]
    group: Basis | None = None  # what each of three groups of warps adds to the one before

    @property
    def num_warps(self) -> int:
        return (3 if self.group else 1) << len(self.warps)

    @property
    def text(self) -> str:
        def bases(name, values):
            return f"{name} = {[list(basis) for basis in values]}"

        groups = f"groups = 3 by {list(self.group)}, " if self.group else ""
        return (
            f"#tilegpu.layout<{bases('register', self.registers)}, {bases('lane', self.lanes)}, "
            f"{bases('warp', self.warps)}, {groups}repeat = {list(self.repeat)}>"
        )

    def reduced(self, axis: int) -> Layout:
        def without(basis):
            return tuple(0 if dim == axis else part for dim, part in enumerate(basis))

        return Layout(
            tuple(basis for basis in map(without, self.registers) if any(basis)),
            tuple(map(without, self.lanes)),
            tuple(map(without, self.warps)),
            tuple(1 if dim == axis else count for dim, count in enumerate(self.repeat)),
            without(self.group) if self.group else None,
        )


def spread(shape, *places, repeat=None) -> Layout:
    """A layout from strings of dimensions for the register, lane and warp bits, one digit a bit.

    Each bit doubles its dimension's extent: spread((8, 64), "11", "11100", "01"). "." is a bit that
    chooses nothing. "*0" behind the warps are three groups of as many, along dimension 0, and "*."
    three that hold the same. Repeats cover the rest of the shape.
    """
    *most, warps = places
    warps, _, grouped = warps.partition("*")
    extent = [1] * len(shape)

    def take(digits):
        bases = []
        for digit in digits:
            basis = [0] * len(shape)
            if digit != ".":
                basis[int(digit)] = extent[int(digit)]
                extent[int(digit)] *= 2
            bases.append(tuple(basis))
        return tuple(bases)

    registers, lanes, warps = map(take, (*most, warps))
    group = None
    if grouped:
        along = [digit == grouped for digit in map(str, range(len(shape)))]
        group = tuple(size if here else 0 for size, here in zip(extent, along, strict=True))
        extent = [3 * size if here else size for size, here in zip(extent, along, strict=True)]
    rest = tuple(-(-size // done) for size, done in zip(shape, extent, strict=True))
    return Layout(registers, lanes, warps, repeat or rest, group)


def mma_acc(shape, warps_m: int, warps_n: int) -> Layout:
    """PTX ISA, accumulators of m16n8, two instructions side by side."""
    lanes = ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0))
    wide = shape[1] % (16 * warps_n) == 0
    run = 16 if wide else 8
    registers = ((0, 1), (8, 0)) + (((0, 8),) if wide else ())
    warps = tuple((0, run << i) for i in range(warps_n.bit_length() - 1))
    warps += tuple((16 << i, 0) for i in range(warps_m.bit_length() - 1))
    return Layout(
        registers, lanes, warps, (shape[0] // (16 * warps_m), shape[1] // (run * warps_n))
    )


def mma_lhs(acc: Layout, k: int, bits: int) -> Layout:
    """PTX ISA, left operands of m16n8 in registers."""
    packed = 32 // bits
    neighbours = tuple((0, 1 << i) for i in range(packed.bit_length() - 1))
    registers = (*neighbours, (8, 0), (0, 4 * packed))
    lanes = ((0, packed), (0, 2 * packed), (1, 0), (2, 0), (4, 0))
    warps = tuple((m, 0) for m, _ in acc.warps)
    return Layout(registers, lanes, warps, (acc.repeat[0], k // (8 * packed)))


def dims(shape) -> str:
    return "".join(f"{size}x" for size in shape)


def tile(shape, element: str, layout: Layout) -> str:
    return f"tensor<{dims(shape)}{element}, {layout.text}>"


def smem(shape, element: str, order, swizzle: int) -> str:
    shared = f"#tilegpu.shared<order = {list(order)}, swizzle = {swizzle}>"
    return f"!tilegpu.smem<{dims(shape)}{element}, {shared}>"
