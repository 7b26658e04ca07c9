"""Asynchronous products of a warpgroup and its bulk stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from warp_roles.faults import Fault
from warp_roles.memory import Access, Buffer, Shared
from warp_roles.terms import POISON, Term

WARPS = 4


@dataclass(frozen=True)
class Pending:
    """An accumulator whose product may still run."""

    term: Term
    number: int


@dataclass
class Product:
    """One product, which reads from when its first warp issues it until it is complete."""

    key: Any
    reads: list[Access]
    issued: int = 0


@dataclass
class Warpgroup:
    """The products of a warpgroup, which complete in order.

    A product starts when all four warps have issued it; `later(event)` has it complete some time
    after that.
    """

    shared: Shared
    later: Callable[[Callable[[], None]], None]
    name: str
    products: list[Product] = field(default_factory=list)
    complete: int = 0

    def issue(self, number: int, key: Any, operands: list[Buffer]) -> None:
        if number == len(self.products):
            who = f"product {number} of {self.name}"
            reads = [self.shared.begin(b.start, b.end, who, writes=False) for b in operands]
            self.products.append(Product(key, reads))
        product = self.products[number]
        if product.key != key:
            raise Fault("result", f"warps of {self.name} issue different products")
        product.issued += 1
        if product.issued == WARPS:
            self._start(number)

    def _start(self, number: int) -> None:
        """Have the product complete, unless one before it is under way: then that one does."""
        if number == self.complete:
            self.later(self._finish)

    def _finish(self) -> None:
        for access in self.products[self.complete].reads:
            self.shared.finish(access)
        self.complete += 1
        rest = self.products[self.complete : self.complete + 1]
        if rest and rest[0].issued == WARPS:
            self._start(self.complete)


@dataclass
class BulkStores:
    """Groups of bulk stores that one thread started; None for those that have read their source."""

    shared: Shared
    groups: list[Access | None] = field(default_factory=list)

    def start(self, access: Access) -> Callable[[], None]:
        number = len(self.groups)
        self.groups.append(access)

        def read() -> None:
            self.shared.finish(access)
            self.groups[number] = None

        return read

    def have_read(self, pending: int) -> bool:
        """True when all but the last `pending` groups have read their source."""
        return not any(self.groups[: len(self.groups) - pending])


def accumulated(acc: Any, accumulate: bool, zero: Term) -> Term:
    """What a product adds to: `acc` may be another product's result that nobody has waited for."""
    term = acc.term if isinstance(acc, Pending) else acc
    if not accumulate:
        return zero
    if term is POISON:
        raise Fault("result", "a product adds to an accumulator without a value")
    return term
