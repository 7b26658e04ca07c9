"""Tiles as the terms that compute them; equal terms are one object."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar


class Term:
    """An operation, what it was given besides tiles, and its operands."""

    __slots__ = ("detail", "name", "operands")
    _known: ClassVar[dict[tuple[Any, ...], Term]] = {}

    name: str
    detail: Any
    operands: tuple[Term, ...]

    @classmethod
    def of(cls, name: str, detail: Any = None, *operands: Any) -> Term:
        key = (name, detail, *operands)
        term = cls._known.get(key)
        if term is None:
            term = cls._known[key] = cls.__new__(cls)
            term.name, term.detail, term.operands = name, detail, operands
        return term

    def __repr__(self) -> str:
        return self.text(depth=6)

    def text(self, depth: int) -> str:
        """What the term computes, cut off below `depth` operations."""
        inside = ["…"] if depth == 0 else [_text(operand, depth - 1) for operand in self.operands]
        detail = [] if self.detail is None else [str(self.detail)]
        return f"{self.name}({', '.join(detail + inside)})"


def _text(operand: Any, depth: int) -> str:
    return operand.text(depth) if isinstance(operand, Term) else str(operand)


POISON = Term.of("poison")


def plain(text: str) -> str:
    """A type or attribute without layouts: the same in both dialects."""
    return re.sub(r", #tilegpu\.layout<[^>]*>", "", text)


def zero_of(type_text: str) -> Term:
    """The tile of zeros that a product starts from when it does not accumulate."""
    element = plain(type_text).rstrip(">").rpartition("x")[2]
    zero = "0" if element.startswith("i") else "0.000000e+00"
    return constant(f"dense<{zero}> : {type_text}")


def constant(attribute_text: str) -> Term:
    return Term.of("constant", plain(attribute_text))


def added(*terms: Term) -> Term:
    """A sum from left to right, whatever the parentheses; zeros add nothing."""
    parts: list[Term] = []
    for term in terms:
        if term.name == "sum":
            parts += term.operands
        elif term.name != "constant" or not re.match(r"dense<0(\.0+e\+00)?> ", term.detail):
            parts.append(term)
    return Term.of("sum", None, *parts)


def transposed(term: Term) -> Term:
    """A matrix with its dimensions exchanged, by what that does to loads, sums and products."""
    if term.name == "load" and len(term.detail[2]) == 2:
        name, where, (rows, columns) = term.detail
        return Term.of("load", (name, where, (columns, rows)), *term.operands)
    if term.name == "sum":
        return Term.of("sum", None, *map(transposed, term.operands))
    if term.name == "product":
        tf32, *unsigned = term.detail
        lhs, rhs = term.operands
        return Term.of("product", (tf32, *reversed(unsigned)), transposed(rhs), transposed(lhs))
    if term.name == "transposed":
        return term.operands[0]
    return Term.of("transposed", None, term)


def columns(term: Term, first: int, width: int) -> Term:
    """Columns of a matrix from `first` on, by what its elements are computed from."""
    if term.name == "load" and len(term.detail[2]) == 2:
        name, where, wide = term.detail
        return Term.of("load", (name, _part(where, wide[1], first, width), wide), *term.operands)
    if term.name == "transposed":
        return transposed(rows(term.operands[0], first, width))
    if term.name == "product":
        lhs, rhs = term.operands
        return Term.of("product", term.detail, lhs, columns(rhs, first, width))
    return Term.of(
        term.name, term.detail, *(columns(operand, first, width) for operand in term.operands)
    )


def rows(term: Term, first: int, width: int) -> Term:
    """The same of its rows."""
    return transposed(columns(transposed(term), first, width))


def _part(where: Any, divided: int, first: int, width: int) -> Any:
    return tuple(
        (dim, offset + first, width) if dim == divided else (dim, offset, size)
        for dim, offset, size in where
    )


@dataclass(frozen=True)
class View:
    """An argument, or a permutation of one.

    Attributes:
        name: the argument's.
        shape: of the argument.
        dims: the argument's dimension behind each of the view's.
        tile_shape: of a partition.
    """

    name: str
    shape: tuple[int, ...]
    dims: tuple[int, ...]
    tile_shape: tuple[int, ...] | None = None

    @classmethod
    def of(cls, name: str, shape: tuple[int, ...], type_text: str) -> View:
        tile = re.match(r"!tile\.partition<([\dx]+) of", type_text)
        tile_shape = tuple(map(int, tile[1].split("x"))) if tile else None
        return cls(name, shape, tuple(range(len(shape))), tile_shape)

    def permuted(self, order: list[int]) -> View:
        return View(self.name, self.shape, tuple(self.dims[dim] for dim in order))

    def load(self, offsets: list[int], extents: tuple[int, ...], pad: Any = None) -> Term:
        """A tile of the view that starts at `offsets`, in elements.

        Dimensions of extent 1 count with their place only: a reshape may take them away.
        """
        where = tuple(sorted(zip(self.dims, offsets, extents, strict=True)))
        wide = (dim for dim, extent in zip(self.dims, extents, strict=True) if extent != 1)
        pads = () if pad is None or pad == 0 else (pad,)
        return Term.of("load", (self.name, where, tuple(wide)), *pads)

    def place(self, offsets: list[int]) -> tuple[str, tuple[int, ...]]:
        """What a tile stored there is remembered under."""
        return self.name, tuple(
            offset for _, offset in sorted(zip(self.dims, offsets, strict=True))
        )
