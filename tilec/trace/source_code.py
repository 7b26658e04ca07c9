"""The syntax tree of a live function, proven to be the one that was compiled.

A file may have changed since it was imported, and two lambdas may share a line: a tree is accepted
only if compiling it again gives the function's own bytecode.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType, ModuleType

FunctionNode = ast.FunctionDef | ast.Lambda
_COMPILER_FLAGS = 0x1FF0000  # the __future__ features that a code object carries in co_flags


class NoSource(Exception):
    """Why the syntax tree of a function cannot be had."""


@dataclass(frozen=True)
class Source:
    """A function's syntax tree, with the file's own line and column numbers."""

    node: FunctionNode
    flags: int


def find_source(function: FunctionType) -> Source:
    """The syntax tree that a function was compiled from.

    Raises:
        NoSource: There is no text, or it is not what was compiled.
    """
    code = function.__code__
    lines = linecache.getlines(code.co_filename)
    if not lines:
        raise NoSource(f"there is no source text for {code.co_filename}")
    if code.co_firstlineno > len(lines):
        raise NoSource(f"{code.co_filename} has changed since it was imported")
    flags = code.co_flags & _COMPILER_FLAGS
    for tree in _candidate_trees(code, lines):
        for node in _functions_at(tree, code):
            if _has_assert(node) or _compiles_to(node, function, flags):
                return Source(node, flags)
    raise NoSource(f"{code.co_filename} has changed since it was imported")


def _candidate_trees(code: CodeType, lines: list[str]) -> Iterator[ast.AST]:
    """First the function's own lines, which parse fast, then the whole file."""
    if code.co_name != "<lambda>":
        block = _parse_block(lines, code.co_firstlineno)
        if block is not None:
            yield block
    try:
        yield _parse_file(code.co_filename, "".join(lines))
    except SyntaxError:
        return


@cache
def _parse_file(filename: str, text: str) -> ast.AST:
    return ast.parse(text, filename)


def _parse_block(lines: list[str], first: int) -> ast.AST | None:
    """Parse the statement that begins at line ``first``, found by its indentation."""
    head = lines[first - 1]
    margin = len(head) - len(head.lstrip())
    last = first
    seen_def = False
    for number in range(first, len(lines) + 1):
        line = lines[number - 1]
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if seen_def and indent <= margin and not stripped.startswith((")", "]", "}")):
            break
        seen_def = seen_def or stripped.startswith(("def ", "async def "))
        last = number
    text = "".join(lines[first - 1 : last])
    if margin:  # a block of its own keeps every column as it is in the file
        text = "if 1:\n" + text
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    return ast.increment_lineno(tree, first - 1 - bool(margin))


def _functions_at(tree: ast.AST, code: CodeType) -> Iterator[FunctionNode]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>":
            if node.lineno == code.co_firstlineno:
                yield node
        elif isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if start == code.co_firstlineno:
                yield node


def _has_assert(node: FunctionNode) -> bool:
    """Test runners rewrite assert statements, so such a function need not compile to itself."""
    return any(isinstance(child, ast.Assert) for child in ast.walk(node))


def _compiles_to(node: FunctionNode, function: FunctionType, flags: int) -> bool:
    code = function.__code__
    # The compiler treats attributes of names that the file imports in its own way.
    guesses = (_imported_names(function), (), tuple(sorted(set(code.co_names))))
    for imported in dict.fromkeys(guesses):
        compiled = compile_function(node, function, flags, imported=imported)
        if compiled is not None and _same(compiled, code):
            return True
    return False


def _imported_names(function: FunctionType) -> tuple[str, ...]:
    """The global names that a function's file has probably imported."""
    own = function.__module__
    names: list[str] = []
    for name in set(function.__code__.co_names):
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType) or getattr(value, "__module__", own) not in (own, None):
            names.append(name)
    return tuple(sorted(names))


def _same(left: CodeType, right: CodeType) -> bool:
    if (left.co_code, left.co_names, left.co_varnames, left.co_freevars, left.co_cellvars) != (
        right.co_code,
        right.co_names,
        right.co_varnames,
        right.co_freevars,
        right.co_cellvars,
    ):
        return False
    if len(left.co_consts) != len(right.co_consts):
        return False
    pairs = zip(left.co_consts, right.co_consts, strict=True)
    return all(_same_constant(a, b) for a, b in pairs)


def _same_constant(left: object, right: object) -> bool:
    if isinstance(left, CodeType) and isinstance(right, CodeType):
        return _same(left, right)
    if type(left) is not type(right):
        return False
    # The qualified name of a nested class holds the names of the functions around it.
    return _without_scope(repr(left)) == _without_scope(repr(right))


def _without_scope(text: str) -> str:
    return text.rsplit("<locals>.", 1)[-1] if "<locals>." in text else text


def compile_function(
    node: FunctionNode,
    like: FunctionType,
    flags: int,
    extra_free: tuple[str, ...] = (),
    imported: tuple[str, ...] = (),
) -> CodeType | None:
    """Compile a function whose free variables are those of ``like`` (and some more).

    Args:
        node: The function.
        like: The function whose name, file, class and free variables the new one gets.
        flags: ``__future__`` features.
        extra_free: More free variables.
        imported: Global names that the file imports.

    Returns:
        The function's code object, or None if the tree is no valid function.
    """
    code = like.__code__
    inner: ast.stmt
    if isinstance(node, ast.Lambda):
        inner = ast.copy_location(ast.Expr(node), node)
    else:
        inner = copy.copy(node)
        inner.args = _without_defaults(node.args)
        inner.decorator_list = []
        inner.returns = None
    path = ["__tilec_outer", code.co_name]
    scope = like.__qualname__.split(".")[-2:-1]
    if scope and scope != ["<locals>"] and isinstance(node, ast.FunctionDef):
        # A method: the names of private attributes hold that of the class.
        inner = ast.ClassDef(name=scope[0], bases=[], keywords=[], body=[inner], decorator_list=[])
        inner.type_params = []  # type: ignore[attr-defined]
        path.insert(1, scope[0])
    free = ", ".join((*code.co_freevars, *extra_free))
    outer = ast.parse(f"def __tilec_outer({free}): pass")
    outer.body[0].body = [inner]  # type: ignore[attr-defined]
    if imported:
        outer.body.append(ast.Import([ast.alias(name) for name in imported]))
    ast.fix_missing_locations(outer)
    module = compile(outer, code.co_filename, "exec", flags=flags, dont_inherit=True)
    return _nested_code(module, path)


def _without_defaults(arguments: ast.arguments) -> ast.arguments:
    """Defaults live in the function object; annotations were evaluated when it was made."""
    nothing = ast.Constant(None)
    strip = [[ast.arg(a.arg) for a in group] for group in (arguments.posonlyargs, arguments.args)]
    return ast.arguments(
        posonlyargs=strip[0],
        args=strip[1],
        vararg=ast.arg(arguments.vararg.arg) if arguments.vararg else None,
        kwonlyargs=[ast.arg(a.arg) for a in arguments.kwonlyargs],
        kw_defaults=[nothing if d is not None else None for d in arguments.kw_defaults],
        kwarg=ast.arg(arguments.kwarg.arg) if arguments.kwarg else None,
        defaults=[nothing for _ in arguments.defaults],
    )


def _nested_code(code: CodeType, path: Sequence[str]) -> CodeType | None:
    if not path:
        return code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name == path[0]:
            return _nested_code(constant, path[1:])
    return None


def is_generator(code: CodeType) -> bool:
    """Whether calling the function makes a generator or a coroutine."""
    kinds = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    return bool(code.co_flags & kinds)
