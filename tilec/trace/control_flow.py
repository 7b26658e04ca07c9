"""The only rewriting of Python: control flow that may depend on values known at run time only.

Every statement is turned into one that asks the tracer, which decides while tracing whether the
condition is Python's (then the statement does what it always did) or the device's:

    for T in ITER:                loop = __tilec__.for_loop(0, ITER)
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
``__tilec__.function(f)``, so that it is rewritten in turn.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from tilec.diagnostics import Frame, TraceError
from tilec.trace import syntax
from tilec.trace.expressions import ExpressionRewriter
from tilec.trace.statements import Loop, Record, Statement

RETURNED, RETURN_VALUE = "__tilec_returned", "__tilec_value"


def rewrite(node: ast.FunctionDef | ast.Lambda, record: Record) -> ast.FunctionDef | ast.Lambda:
    """The rewritten function; what the tracer must know of it goes into ``record``.

    Raises:
        TraceError: A statement that kernels do not support.
    """
    if isinstance(node, ast.Lambda):
        body = ExpressionRewriter(record, frozenset()).visit(node.body)
        return ast.copy_location(ast.Lambda(node.args, body), node)
    return _Body(record, node).rewrite()


class _Body:
    """Rewrites the statements of one function."""

    def __init__(self, record: Record, node: ast.FunctionDef) -> None:
        self._record = record
        self._node = node
        self._parameters = syntax.parameter_names(node.args)
        self._early_return = syntax.has_early_return(node)
        # Variables that some path may leave unbound: they start as Undefined and loads check them.
        self._unbound = frozenset(syntax.assigned_in_control_flow(node.body) - self._parameters)
        self._statement_names: set[str] = set()
        self._reads = syntax.reads(node.body)
        self._local = self._parameters.union(syntax.assigned(node.body))
        # Asked for before the rewriting hides calls such as a.append(x).
        self._in_place = {
            id(statement): syntax.changed_in_place([statement])
            for statement in ast.walk(node)
            if isinstance(statement, ast.stmt)
        }

    def rewrite(self) -> ast.FunctionDef:
        node = self._node
        body = self._block(node.body, None)
        start: list[ast.stmt] = []
        names = sorted(self._statement_names - self._parameters)
        for name in names:
            start.append(syntax.assign(name, syntax.call("undefined", ast.Constant(name)), node))
        if self._early_return:
            start.append(syntax.assign(RETURNED, ast.Constant(False), node))
            start.append(syntax.assign(RETURN_VALUE, syntax.call("unset"), node))
            always = ast.Constant(syntax.always_jumps(node.body))
            result = syntax.call(
                "returned", always, syntax.load(RETURNED), syntax.load(RETURN_VALUE)
            )
            body.append(syntax.located(ast.Return(result), node.body[-1]))
        docstring = body[:1] if ast.get_docstring(node) is not None else []
        new = copy.copy(node)
        new.body = [*docstring, *start, *body[len(docstring) :]]
        return new

    # -- blocks ------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt], loop: Loop | None) -> list[ast.stmt]:
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

    def _jumps(self, statement: ast.stmt, loop: Loop | None) -> bool:
        """Whether control may leave the block that holds ``statement``."""
        return syntax.contains_jump(statement, (ast.Return,), loop is not None)

    def _if_with_jump(
        self, statement: ast.If, rest: list[ast.stmt], loop: Loop | None
    ) -> list[ast.stmt]:
        """What follows an arm that always jumps belongs to the other arm."""
        if syntax.always_jumps(statement.body) and not syntax.block_jumps(
            statement.orelse, loop is not None
        ):
            moved = ast.If(statement.test, statement.body, [*statement.orelse, *rest])
            return self._statement(ast.copy_location(moved, statement), loop)
        if statement.orelse and syntax.always_jumps(statement.orelse):
            if not syntax.block_jumps(statement.body, loop is not None):
                moved = ast.If(statement.test, [*statement.body, *rest], statement.orelse)
                return self._statement(ast.copy_location(moved, statement), loop)
        return [*self._statement(statement, loop), *self._guarded(statement, rest, loop)]

    def _guarded(
        self, statement: ast.stmt, rest: list[ast.stmt], loop: Loop | None
    ) -> list[ast.stmt]:
        """``rest``, run only if ``statement`` has not jumped."""
        flags: list[str] = []
        if syntax.contains_jump(statement, (ast.Return,), False):
            flags.append(RETURNED)
        if loop is not None:
            if syntax.contains_jump(statement, (ast.Break,), True, direct=True):
                flags.append(loop.break_flag)
            if syntax.contains_jump(statement, (ast.Continue,), True, direct=True):
                flags.append(loop.continue_flag)
        body = self._block(rest, loop)
        return self._if(syntax.call("none_of", *map(syntax.load, flags)), body, [], rest, rest[0])

    # -- statements --------------------------------------------------------------------------

    def _statement(self, statement: ast.stmt, loop: Loop | None) -> list[ast.stmt]:
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
        frame = Frame(self._record.span(node), self._node.name)
        return TraceError(message, frames=[frame], hint=hint)

    def _expressions(self) -> ExpressionRewriter:
        return ExpressionRewriter(self._record, self._unbound)

    def _expression(self, node: ast.expr) -> ast.expr:
        return self._expressions().visit(node)

    def _nested_function(self, node: ast.FunctionDef, loop: Loop | None) -> list[ast.stmt]:
        decorators = [self._decorator(d) for d in node.decorator_list]
        if syntax.is_generator(node):
            return [node]
        new = _Body(self._record, node).rewrite()
        new.decorator_list = decorators
        return [new]

    def _decorator(self, node: ast.expr) -> ast.expr:
        return syntax.located(syntax.call("function", self._expression(node)), node)

    def _with(self, node: ast.With, loop: Loop | None) -> list[ast.stmt]:
        if syntax.contains_jump(node, (ast.Return, ast.Break, ast.Continue), True):
            raise self.error(
                "a jump out of `with` is not supported in a kernel", node.items[0].context_expr
            )
        items = [self._expressions().visit(item) for item in node.items]
        return [ast.copy_location(ast.With(items, self._block(node.body, loop)), node)]

    def _return(self, node: ast.Return, loop: Loop | None) -> list[ast.stmt]:
        value = self._expression(node.value) if node.value is not None else None
        if not self._early_return:
            return [ast.copy_location(ast.Return(value), node)]
        return [
            syntax.assign(RETURN_VALUE, value or ast.Constant(None), node),
            syntax.assign(RETURNED, ast.Constant(True), node),
        ]

    def _break(self, node: ast.Break, loop: Loop | None) -> list[ast.stmt]:
        assert loop is not None
        return [syntax.assign(loop.break_flag, ast.Constant(True), node)]

    def _continue(self, node: ast.Continue, loop: Loop | None) -> list[ast.stmt]:
        assert loop is not None
        return [syntax.assign(loop.continue_flag, ast.Constant(True), node)]

    def _if_statement(self, node: ast.If, loop: Loop | None) -> list[ast.stmt]:
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
        names = self._changed([*body, *orelse], original)
        number, variable = self._number(Statement("if", self._record.span(place), names), original)
        arms = ast.If(syntax.attribute(variable, "then"), body or [ast.Pass()], orelse)
        return syntax.located_all(
            [
                syntax.assign(variable, syntax.call("if_", ast.Constant(number), test)),
                ast.While(
                    syntax.method(variable, "advance", syntax.tuple_of(names)),
                    [
                        *syntax.unpack(names, syntax.method(variable, "enter")),
                        arms,
                        ast.Expr(syntax.method(variable, "leave", syntax.tuple_of(names))),
                    ],
                    [],
                ),
                *syntax.unpack(names, syntax.method(variable, "results", syntax.tuple_of(names))),
            ],
            place,
        )

    def _number(self, statement: Statement, original: list[ast.stmt]) -> tuple[int, str]:
        """Register a statement; returns its number and the variable that holds its state."""
        self._statement_names.update(statement.names, statement.targets)
        for name, span in syntax.assignment_places(original, self._record.span):
            statement.places.setdefault(name, []).append(span)
        for node in syntax.changes_elsewhere(original, self._local):
            statement.mutations.append((ast.unparse(node), self._record.span(node)))
        number = self._record.add(statement)
        return number, f"__tilec_{statement.kind}_{number}"

    def _changed(self, nodes: list[ast.stmt], original: Sequence[ast.stmt]) -> tuple[str, ...]:
        """The variables that statements bind, or whose lists and dicts they change."""
        in_place = self._changed_in_place(original) & self._local
        return tuple(sorted({*syntax.assigned(nodes), *in_place}))

    def _changed_in_place(self, statements: Sequence[ast.stmt]) -> set[str]:
        names: set[str] = set()
        for statement in statements:
            if id(statement) in self._in_place:
                names |= self._in_place[id(statement)]
            elif isinstance(statement, ast.If):  # one that was made here, around others
                names |= self._changed_in_place([*statement.body, *statement.orelse])
        return names

    def _loop_flags(
        self, node: ast.For | ast.While
    ) -> tuple[Loop, tuple[str, ...], list[ast.stmt]]:
        """Names of a loop, the flags that end it, and the statements that reset its flags."""
        loop = self._record.next_loop()
        exits: list[str] = []
        start: list[ast.stmt] = []
        if syntax.contains_jump(node, (ast.Break,), True, direct=True, inside=True):
            exits.append(loop.break_flag)
            start.append(syntax.assign(loop.break_flag, ast.Constant(False)))
        if syntax.contains_jump(node, (ast.Return,), False):
            exits.append(RETURNED)
        return loop, tuple(exits), start

    def _loop_body(self, node: ast.For | ast.While, loop: Loop) -> list[ast.stmt]:
        body = self._block(node.body, loop)
        if syntax.contains_jump(node, (ast.Continue,), True, direct=True, inside=True):
            body.insert(0, syntax.assign(loop.continue_flag, ast.Constant(False)))
        return body

    def _for(self, node: ast.For, outer: Loop | None) -> list[ast.stmt]:
        loop, exits, start = self._loop_flags(node)
        targets = tuple(sorted(syntax.target_names(node.target)))
        iterable = self._expression(node.iter)
        body = self._loop_body(node, loop)
        names = tuple(n for n in self._changed(body, [node]) if n not in targets)
        names = (*names, *(flag for flag in exits if flag not in names))
        read_after = frozenset(name for name in names if self._read_outside(name, node))
        place = self._record.span(node.iter)
        statement = Statement("for", place, names, targets, exits, read_after)
        number, variable = self._number(statement, [node])
        if exits:  # an unrolled loop cannot stop at a flag that is known at run time only
            guard = syntax.method(variable, "guard", syntax.tuple_of(exits))
            body = self._if(guard, body, [], [node], node.iter)
        loop_statement = ast.While(
            syntax.method(variable, "advance", syntax.tuple_of(names)),
            [
                *syntax.unpack(names, syntax.method(variable, "enter")),
                ast.Assign([node.target], syntax.method(variable, "item")),
                *body,
                ast.Expr(syntax.method(variable, "leave", syntax.tuple_of(names))),
            ],
            [],
        )
        after = [
            syntax.assign(
                name, syntax.method(variable, "after", ast.Constant(name), syntax.load(name))
            )
            for name in targets
        ]
        result = [
            *start,
            syntax.assign(variable, syntax.call("for_loop", ast.Constant(number), iterable)),
            loop_statement,
            *syntax.unpack(names, syntax.method(variable, "results", syntax.tuple_of(names))),
            *after,
        ]
        return [*syntax.located_all(result, node.iter), *self._else(node, exits, outer)]

    def _read_outside(self, name: str, node: ast.AST) -> bool:
        return self._reads[name] > syntax.reads([node])[name]

    def _while(self, node: ast.While, outer: Loop | None) -> list[ast.stmt]:
        loop, exits, start = self._loop_flags(node)
        test = self._expression(node.test)
        body = self._loop_body(node, loop)
        names = self._changed([*body, ast.Expr(node.test)], [node])
        names = (*names, *(flag for flag in exits if flag not in names))
        statement = Statement("while", self._record.span(node.test), names, (), exits)
        number, variable = self._number(statement, [node])
        result = [
            *start,
            syntax.assign(variable, syntax.call("while_loop", ast.Constant(number))),
            ast.While(
                syntax.method(variable, "advance", syntax.tuple_of(names)),
                [
                    *syntax.unpack(names, syntax.method(variable, "enter")),
                    ast.If(
                        syntax.method(variable, "test", test, syntax.tuple_of(names)),
                        [
                            *syntax.unpack(names, syntax.method(variable, "body")),
                            *body,
                            ast.Expr(syntax.method(variable, "leave", syntax.tuple_of(names))),
                        ],
                        [],
                    ),
                ],
                [],
            ),
            *syntax.unpack(names, syntax.method(variable, "results", syntax.tuple_of(names))),
        ]
        return [*syntax.located_all(result, node.test), *self._else(node, exits, outer)]

    def _else(
        self, node: ast.For | ast.While, exits: tuple[str, ...], outer: Loop | None
    ) -> list[ast.stmt]:
        """The else of a loop runs unless the loop was left by a jump."""
        if not node.orelse:
            return []
        body = self._block(node.orelse, outer)
        if not exits:
            return body
        test = syntax.call("none_of", *map(syntax.load, exits))
        return self._if(test, body, [], node.orelse, node.orelse[0])
