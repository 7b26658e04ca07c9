"""Rewriting the functions that a trace enters, once per code object."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import CellType, CodeType, FunctionType

from tilec.diagnostics import TraceError
from tilec.lang.source import is_internal, register_line_spans
from tilec.trace.control_flow import rewrite
from tilec.trace.runtime import Runtime
from tilec.trace.source_code import NoSource, compile_function, find_source, is_generator
from tilec.trace.statements import Record, Statement
from tilec.trace.syntax import RUNTIME


class Rewritten:
    """A rewritten code object, and what its control flow needs to know."""

    def __init__(self, code: CodeType, statements: list[Statement]) -> None:
        self.code = code
        self.statements = statements


class Unchanged:
    """A code object that runs as it is.

    Attributes:
        reason: Why it could not be rewritten, or None if there was no need.
        refusal: The error of a statement that kernels do not support, if that is why.
    """

    def __init__(self, reason: str | None, refusal: TraceError | None = None) -> None:
        self.reason = reason
        self.refusal = refusal


_rewritten: dict[tuple[CodeType, str], Rewritten | Unchanged] = {}


def rewrite_function(function: FunctionType) -> Rewritten | Unchanged:
    """The rewritten form of a function's code object; worked out once."""
    code = function.__code__
    key = (code, code.co_filename)
    found = _rewritten.get(key)
    if found is None:
        found = _rewritten[key] = _rewrite(function)
    return found


def _rewrite(function: FunctionType) -> Rewritten | Unchanged:
    code = function.__code__
    if RUNTIME in code.co_freevars or is_generator(code) or is_internal(code.co_filename):
        return Unchanged(None)
    try:
        source = find_source(function)
    except NoSource as reason:
        return Unchanged(str(reason))
    record = Record(code.co_filename)
    if sys.version_info < (3, 11):
        statements = [n for n in ast.walk(source.node) if isinstance(n, ast.stmt)]
        register_line_spans(record.span(_head(node)) for node in statements)
    try:
        node = rewrite(source.node, record)
    except TraceError as refusal:  # a helper that only computes constants may still do that
        return Unchanged(refusal.message, refusal)
    new = compile_function(node, function, source.flags, (RUNTIME,))
    if new is None or RUNTIME not in new.co_freevars:
        return Unchanged(None)
    return Rewritten(new, record.statements)


def _head(node: ast.stmt) -> ast.AST:
    """What to mark of a statement: not its body, where other statements are."""
    if isinstance(node, (ast.If, ast.While)):
        return node.test
    return node.iter if isinstance(node, ast.For) else node


class Converter:
    """Gives functions their rewritten form during one trace.

    Attributes:
        unchanged: Functions that could not be rewritten, and why.
    """

    def __init__(self) -> None:
        self.unchanged: dict[CodeType, str] = {}
        self._cells: dict[int, CellType] = {}

    def kernel(self, function: FunctionType) -> FunctionType:
        """The rewritten form of the kernel itself.

        Raises:
            TraceError: It has a statement that kernels do not support.
        """
        form = rewrite_function(function)
        if isinstance(form, Unchanged) and form.refusal is not None:
            refusal = form.refusal
            raise TraceError(refusal.message, frames=refusal.frames, hint=refusal.hint)
        return self(function)

    def __call__(self, function: FunctionType) -> FunctionType:
        """The function to call instead of ``function``."""
        code = function.__code__
        form = rewrite_function(function)
        if isinstance(form, Unchanged):
            if form.reason is not None:
                self.unchanged[code] = form.reason
            return function
        own = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        own[RUNTIME] = self._runtime_cell(form)
        new = FunctionType(
            form.code,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            tuple(own[name] for name in form.code.co_freevars),
        )
        new.__kwdefaults__ = function.__kwdefaults__
        new.__qualname__ = function.__qualname__
        return new

    def _runtime_cell(self, form: Rewritten) -> CellType:
        key = id(form)
        if key not in self._cells:
            self._cells[key] = CellType(Runtime(form.statements, self))
        return self._cells[key]


def call_rewritten(converter: Converter) -> Callable[..., object]:
    """How `lang` calls a function that the author passed to it."""
    runtime = Runtime((), converter)

    def call(function: Callable[..., object], *arguments: object) -> object:
        return runtime.function(function)(*arguments)

    return call
