"""Building syntax trees, and asking them what a rewriting must know."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from tilec.diagnostics import Span
from tilec.lang.source import THUNK_PARAMETER

RUNTIME = "__tilec__"
"""The name by which rewritten functions know the tracer; classes do not mangle it."""

STATES = ("__tilec_if_", "__tilec_for_", "__tilec_while_")
"""How the variables begin that hold the state of a rewritten statement."""

LOOPS = (ast.For, ast.While)
NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


# -- building trees ------------------------------------------------------------------------------


def load(name: str) -> ast.expr:
    """A variable that is read."""
    return ast.Name(name, ast.Load())


def attribute(variable: str, name: str) -> ast.expr:
    """``variable.name``."""
    return ast.Attribute(load(variable), name, ast.Load())


def call(name: str, *arguments: ast.expr) -> ast.expr:
    """A call of the tracer."""
    return ast.Call(attribute(RUNTIME, name), list(arguments), [])


def method(variable: str, name: str, *arguments: ast.expr) -> ast.expr:
    """A call of a method of a statement's state."""
    return ast.Call(attribute(variable, name), list(arguments), [])


def tuple_of(names: Iterable[str]) -> ast.expr:
    """A tuple of variables."""
    return ast.Tuple([load(name) for name in names], ast.Load())


def assign(name: str, value: ast.expr, place: ast.AST | None = None) -> ast.stmt:
    """``name = value``."""
    statement = ast.Assign([ast.Name(name, ast.Store())], value)
    return statement if place is None else located(statement, place)


def unpack(names: tuple[str, ...], value: ast.expr) -> list[ast.stmt]:
    """``(a, b) = value``; a tuple even of one."""
    target = ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())
    return [ast.Assign([target], value)]


def thunk(body: ast.expr) -> ast.expr:
    """A function without arguments that gives an expression's value."""
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(THUNK_PARAMETER)],
        vararg=None,
        kwonlyargs=[],
        kw_defaults=[],
        kwarg=None,
        defaults=[ast.Constant(None)],
    )
    return located(ast.Lambda(arguments, body), body)


_Node = TypeVar("_Node", bound=ast.AST)


def located(node: _Node, place: ast.AST) -> _Node:
    """Give ``node``, and what in it has no place yet, the place of another node."""
    for child in ast.walk(node):
        if "lineno" in child._attributes and not hasattr(child, "lineno"):
            ast.copy_location(child, place)
    return node


def located_all(nodes: list[ast.stmt], place: ast.AST) -> list[ast.stmt]:
    """Give several statements a place, as :func:`located` does."""
    for node in nodes:
        located(node, place)
    return nodes


# -- looking at trees ----------------------------------------------------------------------------


def parameter_names(arguments: ast.arguments) -> set[str]:
    """The names that a call binds."""
    groups = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {a.arg for a in (*groups, arguments.vararg, arguments.kwarg) if a is not None}


def walk_own(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """All nodes below, except the bodies of nested functions and comprehensions' own scopes."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (*NESTED, *_COMPREHENSIONS)):
            stack.extend(n for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
            continue
        stack.extend(ast.iter_child_nodes(node))


def target_names(node: ast.AST) -> set[str]:
    """The variables of a loop's target."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def assigned(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    """The variables that statements bind, sorted; the tracer's own states are left out."""
    names: set[str] = set()
    for node in walk_own(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
    return tuple(sorted(name for name in names if not name.startswith(STATES)))


_MUTATORS = (
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "remove",
    "reverse",
    "setdefault",
    "update",
)


def changed_in_place(nodes: Iterable[ast.AST]) -> set[str]:
    """The variables whose lists or dicts are changed: by ``a[i] = x``, ``a.append(x)`` …."""
    names: set[str | None] = set()
    for node in walk_own(nodes):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            names.add(_holder(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _MUTATORS:
                names.add(_holder(node.func.value))
    return {name for name in names if name is not None}


def changes_elsewhere(nodes: Iterable[ast.AST], local: set[str]) -> Iterable[ast.AST]:
    """Assignments to attributes, and to elements of what no local variable holds."""
    for node in walk_own(nodes):
        if not isinstance(getattr(node, "ctx", None), ast.Store):
            continue
        is_element = isinstance(node, ast.Subscript) and _holder(node) not in local
        if isinstance(node, ast.Attribute) or is_element:
            yield node


def _holder(node: ast.AST) -> str | None:
    """The variable at the root of ``a[i][j]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def reads(nodes: Iterable[ast.AST]) -> Counter[str]:
    """How often each variable is read."""
    names = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
    return Counter(name.id for name in names if isinstance(name.ctx, ast.Load))


def assigned_in_control_flow(body: list[ast.stmt]) -> set[str]:
    """The variables that only some paths may bind."""
    names: set[str] = set()
    for node in walk_own(body):
        if isinstance(node, (ast.If, *LOOPS)):
            names.update(assigned([node]))
    return names - bound_first(body)


def bound_first(body: list[ast.stmt]) -> set[str]:
    """Variables that a plain statement binds before any control flow: always bound later."""
    names: set[str] = set()
    for statement in body:
        if isinstance(statement, (ast.If, *LOOPS, ast.With, ast.Return)):
            break
        names.update(assigned([statement]))
    return names


def assignment_places(
    statements: Iterable[ast.AST], span: Callable[[ast.AST], Span]
) -> Iterable[tuple[str, Span]]:
    """Each assignment to a variable, with its place."""
    for node in walk_own(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, span(node)


def contains_jump(
    node: ast.AST,
    kinds: tuple[type[ast.stmt], ...],
    in_loop: bool,
    *,
    direct: bool = False,
    inside: bool = False,
) -> bool:
    """Whether a jump in ``node`` leaves it.

    Args:
        node: The statement.
        kinds: Which jumps count; ``break`` and ``continue`` are added if ``in_loop`` and not
            ``direct``.
        in_loop: Whether there is a loop around the statement.
        direct: Count only ``kinds``.
        inside: ``node`` is a loop, and jumps of its own body are asked for.
    """
    wanted = kinds if direct or not in_loop else (*kinds, ast.Break, ast.Continue)
    if isinstance(node, wanted):
        return True
    if isinstance(node, NESTED):
        return False
    if isinstance(node, LOOPS):
        # break and continue of an inner loop stay inside it, but not those in its else.
        inner = wanted if inside else tuple(k for k in wanted if k is ast.Return)
        return any(contains_jump(n, inner, False, direct=True) for n in node.body) or any(
            contains_jump(n, (ast.Return,) if inside else wanted, False, direct=True)
            for n in node.orelse
        )
    children = ast.iter_child_nodes(node)
    return any(contains_jump(child, wanted, False, direct=True) for child in children)


def block_jumps(statements: list[ast.stmt], in_loop: bool) -> bool:
    """Whether control may leave a block by a jump."""
    return any(contains_jump(statement, (ast.Return,), in_loop) for statement in statements)


def always_jumps(statements: list[ast.stmt]) -> bool:
    """Whether a block surely ends by a jump."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, (ast.Return, ast.Break, ast.Continue)):
        # Earlier jumps are fine: this one comes after all of them.
        return True
    return isinstance(last, ast.If) and always_jumps(last.body) and always_jumps(last.orelse)


def has_early_return(node: ast.FunctionDef) -> bool:
    """Whether a return stands anywhere but at the end of the function."""
    for statement in node.body:
        if isinstance(statement, ast.Return):
            return False
        if contains_jump(statement, (ast.Return,), False):
            return True
    return False


def has_walrus(node: ast.AST) -> bool:
    """Whether an expression binds a variable."""
    return any(isinstance(child, ast.NamedExpr) for child in ast.walk(node))


def is_generator(node: ast.FunctionDef) -> bool:
    """Whether a function yields."""
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in walk_own(node.body))
