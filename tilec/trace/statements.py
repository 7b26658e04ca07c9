"""What a rewriting leaves for the tracer: a description of every statement, numbered."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from tilec.diagnostics import Span
from tilec.lang.source import character_column


@dataclass
class Statement:
    """What the tracer must know of a rewritten statement.

    Attributes:
        kind: ``"if"``, ``"for"`` or ``"while"``.
        span: The condition, or what is looped over.
        names: The variables it may assign, in the order in which they are passed.
        targets: The loop variables of a ``for``.
        exits: Which of ``names`` are flags that end the loop.
        read_after: Which of ``names`` are read anywhere else in the function.
        mutations: The objects it changes that are no variables: what, and where.
        places: For each variable, the places that assign it, for error texts.
    """

    kind: str
    span: Span
    names: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    exits: tuple[str, ...] = ()
    read_after: frozenset[str] = frozenset()
    mutations: list[tuple[str, Span]] = field(default_factory=list[tuple[str, Span]])
    places: dict[str, list[Span]] = field(default_factory=dict[str, list[Span]])


class Loop:
    """The loop around the statement being rewritten, and the flags its jumps need."""

    def __init__(self, number: int) -> None:
        self.break_flag = f"__tilec_break_{number}"
        self.continue_flag = f"__tilec_continue_{number}"


class Record:
    """The statements of one function, nested functions included."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.statements: list[Statement] = []
        self._loops = 0

    def next_loop(self) -> Loop:
        """Names for one more loop."""
        self._loops += 1
        return Loop(self._loops)

    def add(self, statement: Statement) -> int:
        """Number a statement."""
        self.statements.append(statement)
        return len(self.statements) - 1

    def span(self, node: ast.AST) -> Span:
        """Where a node stands."""
        place: Any = node
        line, end = place.lineno, place.end_lineno
        start = character_column(self.filename, line, place.col_offset)
        stop = character_column(self.filename, end, place.end_col_offset)
        return Span(self.filename, line, start, end, stop)
