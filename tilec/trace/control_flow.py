"""The only rewriting of Python: control flow that may depend on values known at run time only.

Every statement is turned into one that asks the tracer, which decides while tracing whether the
condition is Python's (then the statement does what it always did) or the device's:

    for T in ITER:                loop = __tilec.for_loop(0, ITER)
        BODY                      while loop.advance((a, b)):
                                      (a, b) = loop.enter()
                                      T = loop.item()
                                      BODY
                                      loop.leave((a, b))
                                  (a, b) = loop.results((a, b))

where ``a`` and ``b`` are the variables that BODY assigns and ``0`` is the number of the
:class:`Statement` that describes it. ``while`` and ``if`` look alike; ``and``, ``or``, ``not`` and
``x if c else y`` become calls whose operands are thunks; ``break``, ``continue`` and early
``return`` become flags, and what follows them is guarded; a function that is called becomes
``__tilec.function(f)``, so that it is rewritten in turn.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tilec.diagnostics import Frame, Span, TraceError
from tilec.lang.source import THUNK_PARAMETER, character_column

RUNTIME = "__tilec"
RETURNED, RETURN_VALUE = "__tilec_returned", "__tilec_value"
_LOOPS = (ast.For, ast.While)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


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
        places: For each variable, the places that assign it, for error texts.
    """

    kind: str
    span: Span
    names: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    exits: tuple[str, ...] = ()
    read_after: frozenset[str] = frozenset()
    places: dict[str, list[Span]] = field(default_factory=dict[str, list[Span]])


class _Loop:
    """The loop around the statement being rewritten, and the flags its jumps need."""

    def __init__(self, number: int) -> None:
        self.break_flag = f"__tilec_break_{number}"
        self.continue_flag = f"__tilec_continue_{number}"


class FunctionRewriter:
    """Rewrites one function; nested functions and lambdas are rewritten along with it."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.statements: list[Statement] = []
        self._loops = 0

    def rewrite(self, node: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef | ast.Lambda:
        """The rewritten function.

        Raises:
            TraceError: A statement that kernels do not support.
        """
        if isinstance(node, ast.Lambda):
            body = _Expressions(self, frozenset()).visit(node.body)
            return ast.copy_location(ast.Lambda(node.args, body), node)
        return _Body(self, node).rewrite()

    def next_loop(self) -> _Loop:
        """Names for one more loop."""
        self._loops += 1
        return _Loop(self._loops)

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


class _Body:
    """Rewrites the statements of one function."""

    def __init__(self, owner: FunctionRewriter, node: ast.FunctionDef) -> None:
        self._owner = owner
        self._node = node
        self._parameters = _parameter_names(node.args)
        self._early_return = _has_early_return(node)
        # Variables that some path may leave unbound: they start as Undefined and loads check them.
        self._unbound = frozenset(_assigned_in_control_flow(node.body) - self._parameters)
        self._statement_names: set[str] = set()
        self._reads = _reads(node.body)

    def rewrite(self) -> ast.FunctionDef:
        node = self._node
        body = self._block(node.body, None)
        start: list[ast.stmt] = []
        names = sorted(self._statement_names - self._parameters)
        for name in names:
            start.append(_assign(name, _call("undefined", ast.Constant(name)), node))
        if self._early_return:
            start.append(_assign(RETURNED, ast.Constant(False), node))
            start.append(_assign(RETURN_VALUE, _call("unset"), node))
            always = ast.Constant(_always_jumps(node.body))
            result = _call("returned", always, _load(RETURNED), _load(RETURN_VALUE))
            body.append(_located(ast.Return(result), node.body[-1]))
        docstring = body[:1] if ast.get_docstring(node) is not None else []
        new = copy.copy(node)
        new.body = [*docstring, *start, *body[len(docstring) :]]
        return new

    # -- blocks ------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt], loop: _Loop | None) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for position, statement in enumerate(statements):
            rest = statements[position + 1 :]
            if isinstance(statement, ast.If) and rest and self._jumps(statement, loop):
                result.extend(self._if_with_jump(statement, rest, loop))
                return result
            result.extend(self._statement(statement, loop))
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                return result
            if rest and self._jumps(statement, loop):
                result.extend(self._guarded(statement, rest, loop))
                return result
        return result

    def _jumps(self, statement: ast.stmt, loop: _Loop | None) -> bool:
        """Whether control may leave the block that holds ``statement``."""
        return _contains_jump(statement, (ast.Return,), loop is not None)

    def _if_with_jump(
        self, statement: ast.If, rest: list[ast.stmt], loop: _Loop | None
    ) -> list[ast.stmt]:
        """What follows an arm that always jumps belongs to the other arm."""
        if _always_jumps(statement.body) and not _block_jumps(statement.orelse, loop is not None):
            moved = ast.If(statement.test, statement.body, [*statement.orelse, *rest])
            return self._statement(ast.copy_location(moved, statement), loop)
        if statement.orelse and _always_jumps(statement.orelse):
            if not _block_jumps(statement.body, loop is not None):
                moved = ast.If(statement.test, [*statement.body, *rest], statement.orelse)
                return self._statement(ast.copy_location(moved, statement), loop)
        return [*self._statement(statement, loop), *self._guarded(statement, rest, loop)]

    def _guarded(
        self, statement: ast.stmt, rest: list[ast.stmt], loop: _Loop | None
    ) -> list[ast.stmt]:
        """``rest``, run only if ``statement`` has not jumped."""
        flags: list[str] = []
        if _contains_jump(statement, (ast.Return,), False):
            flags.append(RETURNED)
        if loop is not None:
            if _contains_jump(statement, (ast.Break,), True, direct=True):
                flags.append(loop.break_flag)
            if _contains_jump(statement, (ast.Continue,), True, direct=True):
                flags.append(loop.continue_flag)
        body = self._block(rest, loop)
        return self._if(_call("none_of", *map(_load, flags)), body, [], rest, rest[0])

    # -- statements --------------------------------------------------------------------------

    def _statement(self, statement: ast.stmt, loop: _Loop | None) -> list[ast.stmt]:
        handlers: dict[type[ast.stmt], Callable[..., list[ast.stmt]]] = {
            ast.If: self._if_statement,
            ast.For: self._for,
            ast.While: self._while,
            ast.Return: self._return,
            ast.Break: self._break,
            ast.Continue: self._continue,
            ast.With: self._with,
            ast.FunctionDef: self._nested_function,
        }
        handler = handlers.get(type(statement))
        if handler is not None:
            return handler(statement, loop)
        self._refuse_unsupported(statement)
        return [self._expressions().visit(statement)]

    def _refuse_unsupported(self, statement: ast.stmt) -> None:
        kinds: dict[str, tuple[str, str | None]] = {
            "Try": ("try", "check arguments before the launch instead"),
            "TryStar": ("try", "check arguments before the launch instead"),
            "AsyncFor": ("async for", None),
            "AsyncWith": ("async with", None),
            "AsyncFunctionDef": ("async def", None),
            "ClassDef": ("class", "define the class outside of the kernel"),
            "Global": ("global", "return the value instead"),
            "Nonlocal": ("nonlocal", "return the value instead"),
            "Match": ("match", "write it as if and elif"),
        }
        found = kinds.get(type(statement).__name__)
        if found is not None:
            raise self.error(f"`{found[0]}` is not supported in a kernel", statement, found[1])

    def error(self, message: str, node: ast.AST, hint: str | None = None) -> TraceError:
        """A refusal with its place."""
        frame = Frame(self._owner.span(node), self._node.name)
        return TraceError(message, frames=[frame], hint=hint)

    def _expressions(self) -> _Expressions:
        return _Expressions(self._owner, self._unbound)

    def _expression(self, node: ast.expr) -> ast.expr:
        return self._expressions().visit(node)

    def _nested_function(self, node: ast.FunctionDef, loop: _Loop | None) -> list[ast.stmt]:
        decorators = [self._decorator(d) for d in node.decorator_list]
        if _is_generator(node):
            return [node]
        new = _Body(self._owner, node).rewrite()
        new.decorator_list = decorators
        return [new]

    def _decorator(self, node: ast.expr) -> ast.expr:
        return _located(_call("function", self._expression(node)), node)

    def _with(self, node: ast.With, loop: _Loop | None) -> list[ast.stmt]:
        if _contains_jump(node, (ast.Return, ast.Break, ast.Continue), True):
            raise self.error(
                "a jump out of `with` is not supported in a kernel", node.items[0].context_expr
            )
        items = [self._expressions().visit(item) for item in node.items]
        return [ast.copy_location(ast.With(items, self._block(node.body, loop)), node)]

    def _return(self, node: ast.Return, loop: _Loop | None) -> list[ast.stmt]:
        value = self._expression(node.value) if node.value is not None else None
        if not self._early_return:
            return [ast.copy_location(ast.Return(value), node)]
        return [
            _assign(RETURN_VALUE, value or ast.Constant(None), node),
            _assign(RETURNED, ast.Constant(True), node),
        ]

    def _break(self, node: ast.Break, loop: _Loop | None) -> list[ast.stmt]:
        assert loop is not None
        return [_assign(loop.break_flag, ast.Constant(True), node)]

    def _continue(self, node: ast.Continue, loop: _Loop | None) -> list[ast.stmt]:
        assert loop is not None
        return [_assign(loop.continue_flag, ast.Constant(True), node)]

    def _if_statement(self, node: ast.If, loop: _Loop | None) -> list[ast.stmt]:
        test = self._expression(node.test)
        body, orelse = self._block(node.body, loop), self._block(node.orelse, loop)
        return self._if(test, body, orelse, [node], node.test)

    def _if(
        self,
        test: ast.expr,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        original: list[ast.stmt],
        place: ast.AST,
    ) -> list[ast.stmt]:
        names = _assigned([*body, *orelse])
        number, variable = self._number(Statement("if", self._owner.span(place), names), original)
        arms = ast.If(_attribute(variable, "then"), body or [ast.Pass()], orelse)
        return _located_all(
            [
                _assign(variable, _call("if_", ast.Constant(number), test)),
                ast.While(
                    _method(variable, "advance", _tuple(names)),
                    [
                        *_unpack(names, _method(variable, "enter")),
                        arms,
                        ast.Expr(_method(variable, "leave", _tuple(names))),
                    ],
                    [],
                ),
                *_unpack(names, _method(variable, "results", _tuple(names))),
            ],
            place,
        )

    def _number(self, statement: Statement, original: list[ast.stmt]) -> tuple[int, str]:
        """Register a statement; returns its number and the variable that holds its state."""
        self._statement_names.update(statement.names, statement.targets)
        for name, span in _assignment_places(original, self._owner.span):
            statement.places.setdefault(name, []).append(span)
        number = self._owner.add(statement)
        return number, f"__tilec_{statement.kind}_{number}"

    def _loop_flags(
        self, node: ast.For | ast.While
    ) -> tuple[_Loop, tuple[str, ...], list[ast.stmt]]:
        """Names of a loop, the flags that end it, and the statements that reset its flags."""
        loop = self._owner.next_loop()
        exits: list[str] = []
        start: list[ast.stmt] = []
        if _contains_jump(node, (ast.Break,), True, direct=True, inside=True):
            exits.append(loop.break_flag)
            start.append(_assign(loop.break_flag, ast.Constant(False)))
        if _contains_jump(node, (ast.Return,), False):
            exits.append(RETURNED)
        return loop, tuple(exits), start

    def _loop_body(self, node: ast.For | ast.While, loop: _Loop) -> list[ast.stmt]:
        body = self._block(node.body, loop)
        if _contains_jump(node, (ast.Continue,), True, direct=True, inside=True):
            body.insert(0, _assign(loop.continue_flag, ast.Constant(False)))
        return body

    def _for(self, node: ast.For, outer: _Loop | None) -> list[ast.stmt]:
        loop, exits, start = self._loop_flags(node)
        targets = tuple(sorted(_target_names(node.target)))
        iterable = self._expression(node.iter)
        body = self._loop_body(node, loop)
        names = tuple(n for n in _assigned(body) if n not in targets)
        names = (*names, *(flag for flag in exits if flag not in names))
        read_after = frozenset(name for name in names if self._read_outside(name, node))
        place = self._owner.span(node.iter)
        statement = Statement("for", place, names, targets, exits, read_after)
        number, variable = self._number(statement, [node])
        if exits:  # an unrolled loop cannot stop at a flag that is known at run time only
            guard = _method(variable, "guard", _tuple(exits))
            body = self._if(guard, body, [], [node], node.iter)
        loop_statement = ast.While(
            _method(variable, "advance", _tuple(names)),
            [
                *_unpack(names, _method(variable, "enter")),
                ast.Assign([node.target], _method(variable, "item")),
                *body,
                ast.Expr(_method(variable, "leave", _tuple(names))),
            ],
            [],
        )
        after = [
            _assign(name, _method(variable, "after", ast.Constant(name), _load(name)))
            for name in targets
        ]
        result = [
            *start,
            _assign(variable, _call("for_loop", ast.Constant(number), iterable)),
            loop_statement,
            *_unpack(names, _method(variable, "results", _tuple(names))),
            *after,
        ]
        return [*_located_all(result, node.iter), *self._else(node, exits, outer)]

    def _read_outside(self, name: str, node: ast.AST) -> bool:
        return self._reads[name] > _reads([node])[name]

    def _while(self, node: ast.While, outer: _Loop | None) -> list[ast.stmt]:
        loop, exits, start = self._loop_flags(node)
        test = self._expression(node.test)
        body = self._loop_body(node, loop)
        names = _assigned([*body, ast.Expr(node.test)])
        names = (*names, *(flag for flag in exits if flag not in names))
        statement = Statement("while", self._owner.span(node.test), names, (), exits)
        number, variable = self._number(statement, [node])
        result = [
            *start,
            _assign(variable, _call("while_loop", ast.Constant(number))),
            ast.While(
                _method(variable, "advance", _tuple(names)),
                [
                    *_unpack(names, _method(variable, "enter")),
                    ast.If(
                        _method(variable, "test", test, _tuple(names)),
                        [
                            *_unpack(names, _method(variable, "body")),
                            *body,
                            ast.Expr(_method(variable, "leave", _tuple(names))),
                        ],
                        [],
                    ),
                ],
                [],
            ),
            *_unpack(names, _method(variable, "results", _tuple(names))),
        ]
        return [*_located_all(result, node.test), *self._else(node, exits, outer)]

    def _else(
        self, node: ast.For | ast.While, exits: tuple[str, ...], outer: _Loop | None
    ) -> list[ast.stmt]:
        """The else of a loop runs unless the loop was left by a jump."""
        if not node.orelse:
            return []
        body = self._block(node.orelse, outer)
        if not exits:
            return body
        test = _call("none_of", *map(_load, exits))
        return self._if(test, body, [], node.orelse, node.orelse[0])


class _Expressions(ast.NodeTransformer):
    """Rewrites the expressions of a statement: calls, boolean operators, checked loads."""

    def __init__(self, owner: FunctionRewriter, unbound: frozenset[str]) -> None:
        self._owner = owner
        self._unbound = unbound

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self._unbound:
            return _located(_call("bound", node), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return node
        node.func = _located(_call("function", node.func), node.func)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if _has_walrus(node):
            return node
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        result = node.values[-1]
        for value in reversed(node.values[:-1]):
            result = _located(_call(name, value, _thunk(result)), node)
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return _located(_call("not_", node.operand), node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if _has_walrus(node):
            return node
        self.generic_visit(node)
        number = self._owner.add(Statement("if", self._owner.span(node)))
        choose = _call(
            "choose", ast.Constant(number), node.test, _thunk(node.body), _thunk(node.orelse)
        )
        return _located(choose, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        symbols = [_SYMBOLS.get(type(op)) for op in node.ops]
        if len(node.ops) == 1 or None in symbols or _has_walrus(node):
            return self.generic_visit(node)  # type: ignore[return-value]
        self.generic_visit(node)
        thunks = [_thunk(comparator) for comparator in node.comparators]
        operators = ast.Tuple([ast.Constant(symbol) for symbol in symbols], ast.Load())
        return _located(_call("compare_chain", operators, node.left, *thunks), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        # Its own names are bound when it is called; the others are checked where they are used.
        own = _parameter_names(node.args)
        node.body = _Expressions(self._owner, self._unbound - own).visit(node.body)
        return node

    def _comprehension(self, node: ast.expr) -> ast.expr:
        own = {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        inner = _Expressions(self._owner, self._unbound - own)
        return inner.generic_visit(node)  # type: ignore[return-value]

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


# -- building trees ------------------------------------------------------------------------------


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _attribute(variable: str, name: str) -> ast.expr:
    return ast.Attribute(_load(variable), name, ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(_attribute(RUNTIME, name), list(arguments), [])


def _method(variable: str, name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(_attribute(variable, name), list(arguments), [])


def _tuple(names: Iterable[str]) -> ast.expr:
    return ast.Tuple([_load(name) for name in names], ast.Load())


def _assign(name: str, value: ast.expr, place: ast.AST | None = None) -> ast.stmt:
    statement = ast.Assign([ast.Name(name, ast.Store())], value)
    return statement if place is None else _located(statement, place)


def _unpack(names: tuple[str, ...], value: ast.expr) -> list[ast.stmt]:
    target = ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())
    return [ast.Assign([target], value)]


def _thunk(body: ast.expr) -> ast.expr:
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(THUNK_PARAMETER)],
        vararg=None,
        kwonlyargs=[],
        kw_defaults=[],
        kwarg=None,
        defaults=[ast.Constant(None)],
    )
    return _located(ast.Lambda(arguments, body), body)


_Node = TypeVar("_Node", bound=ast.AST)


def _located(node: _Node, place: ast.AST) -> _Node:
    """Give ``node``, and what in it has no place yet, the place of another node."""
    for child in ast.walk(node):
        if "lineno" in child._attributes and not hasattr(child, "lineno"):
            ast.copy_location(child, place)
    return node


def _located_all(nodes: list[ast.stmt], place: ast.AST) -> list[ast.stmt]:
    for node in nodes:
        _located(node, place)
    return nodes


# -- looking at trees ----------------------------------------------------------------------------


def _parameter_names(arguments: ast.arguments) -> set[str]:
    groups = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {a.arg for a in (*groups, arguments.vararg, arguments.kwarg) if a is not None}


def _walk_own(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """All nodes below, except the bodies of nested functions and comprehensions' own scopes."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _NESTED) or isinstance(
            node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
        ):
            stack.extend(n for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
            continue
        stack.extend(ast.iter_child_nodes(node))


def _target_names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _assigned(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    """The variables that statements bind, sorted; the tracer's own states are left out."""
    names: set[str] = set()
    for node in _walk_own(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
    states = ("__tilec_if_", "__tilec_for_", "__tilec_while_")
    return tuple(sorted(name for name in names if not name.startswith(states)))


def _reads(nodes: Iterable[ast.AST]) -> Counter[str]:
    """How often each variable is read."""
    names = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
    return Counter(name.id for name in names if isinstance(name.ctx, ast.Load))


def _assigned_in_control_flow(body: list[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for node in _walk_own(body):
        if isinstance(node, (ast.If, *_LOOPS)):
            names.update(_assigned([node]))
    return names - _bound_first(body)


def _bound_first(body: list[ast.stmt]) -> set[str]:
    """Variables that a plain statement binds before any control flow: always bound later."""
    names: set[str] = set()
    for statement in body:
        if isinstance(statement, (ast.If, *_LOOPS, ast.With, ast.Return)):
            break
        names.update(_assigned([statement]))
    return names


def _assignment_places(
    statements: Iterable[ast.AST], span: Callable[[ast.AST], Span]
) -> Iterable[tuple[str, Span]]:
    for node in _walk_own(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, span(node)


def _contains_jump(
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
    if isinstance(node, _NESTED):
        return False
    if isinstance(node, _LOOPS):
        # break and continue of an inner loop stay inside it, but not those in its else.
        inner = wanted if inside else tuple(k for k in wanted if k is ast.Return)
        return any(_contains_jump(n, inner, False, direct=True) for n in node.body) or any(
            _contains_jump(n, (ast.Return,) if inside else wanted, False, direct=True)
            for n in node.orelse
        )
    children = ast.iter_child_nodes(node)
    return any(_contains_jump(child, wanted, False, direct=True) for child in children)


def _block_jumps(statements: list[ast.stmt], in_loop: bool) -> bool:
    return any(_contains_jump(statement, (ast.Return,), in_loop) for statement in statements)


def _always_jumps(statements: list[ast.stmt]) -> bool:
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, (ast.Return, ast.Break, ast.Continue)):
        # Earlier jumps are fine: this one comes after all of them.
        return True
    return isinstance(last, ast.If) and _always_jumps(last.body) and _always_jumps(last.orelse)


def _has_early_return(node: ast.FunctionDef) -> bool:
    """Whether a return stands anywhere but at the end of the function."""
    for statement in node.body:
        if isinstance(statement, ast.Return):
            return False
        if _contains_jump(statement, (ast.Return,), False):
            return True
    return False


def _has_walrus(node: ast.AST) -> bool:
    return any(isinstance(child, ast.NamedExpr) for child in ast.walk(node))


def _is_generator(node: ast.FunctionDef) -> bool:
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _walk_own(node.body))
