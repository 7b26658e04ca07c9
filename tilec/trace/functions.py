"""Rewriting the functions that a trace enters, once per code object."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from types import CellType, CodeType, FunctionType

from tilec.lang.source import is_internal, register_line_spans
from tilec.trace.control_flow import RUNTIME, FunctionRewriter, Statement
from tilec.trace.runtime import Runtime
from tilec.trace.source_code import NoSource, compile_function, find_source, is_generator

_LIBRARIES = tuple(
    os.path.realpath(path) + os.sep
    for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
)


class Rewritten:
    """A rewritten code object, and what its control flow needs to know."""

    def __init__(self, code: CodeType, statements: list[Statement]) -> None:
        self.code = code
        self.statements = statements


class Unchanged:
    """A code object that runs as it is, and why it could not be rewritten (None: no need)."""

    def __init__(self, reason: str | None) -> None:
        self.reason = reason


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
    if RUNTIME in code.co_freevars or is_generator(code) or _is_foreign(code.co_filename):
        return Unchanged(None)
    try:
        source = find_source(function)
    except NoSource as reason:
        return Unchanged(str(reason))
    rewriter = FunctionRewriter(code.co_filename)
    if sys.version_info < (3, 11):
        statements = [n for n in ast.walk(source.node) if isinstance(n, ast.stmt)]
        register_line_spans(rewriter.span(node) for node in statements)
    node = rewriter.rewrite(source.node)
    new = compile_function(node, code, source.flags, (RUNTIME,))
    if new is None or RUNTIME not in new.co_freevars:
        return Unchanged(None)
    return Rewritten(new, rewriter.statements)


@cache
def _is_foreign(filename: str) -> bool:
    """Whether a file is tilec's own or a library's, whose code runs as it is."""
    if is_internal(filename):
        return True
    path = os.path.realpath(filename)
    if os.sep + "site-packages" + os.sep in path or os.sep + "dist-packages" + os.sep in path:
        return not path.startswith(_own_package())
    return path.startswith(_LIBRARIES)


@cache
def _own_package() -> str:
    """Where tilec is installed: its kernel library is rewritten like anybody's code."""
    spec = importlib.util.find_spec("tilec")
    origin = spec.origin if spec is not None else None
    return os.path.dirname(os.path.realpath(origin)) + os.sep if origin else os.sep


class Converter:
    """Gives functions their rewritten form during one trace.

    Attributes:
        unchanged: Functions that could not be rewritten, and why.
    """

    def __init__(self) -> None:
        self.unchanged: dict[CodeType, str] = {}
        self._cells: dict[int, CellType] = {}

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
