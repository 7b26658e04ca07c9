"""Rewriting the expressions of a statement: calls, boolean operators, checked loads."""

from __future__ import annotations

import ast

from tilec.trace import syntax
from tilec.trace.statements import Record, Statement


class ExpressionRewriter(ast.NodeTransformer):
    """Rewrites the expressions of a statement: calls, boolean operators, checked loads."""

    def __init__(self, record: Record, unbound: frozenset[str]) -> None:
        self._record = record
        self._unbound = unbound

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Check variables that some path may leave unbound."""
        if isinstance(node.ctx, ast.Load) and node.id in self._unbound:
            return syntax.located(syntax.call("bound", node), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Have the tracer choose what is called."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return node
        node.func = syntax.located(syntax.call("function", node.func), node.func)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """``and`` and ``or``, whose right operand is evaluated when asked for."""
        if syntax.has_walrus(node):
            return node
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        result = node.values[-1]
        for value in reversed(node.values[:-1]):
            result = syntax.located(syntax.call(name, value, syntax.thunk(result)), node)
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """``not``."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return syntax.located(syntax.call("not_", node.operand), node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """``x if c else y``."""
        if syntax.has_walrus(node):
            return node
        self.generic_visit(node)
        number = self._record.add(Statement("if", self._record.span(node)))
        choose = syntax.call(
            "choose",
            ast.Constant(number),
            node.test,
            syntax.thunk(node.body),
            syntax.thunk(node.orelse),
        )
        return syntax.located(choose, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """A chain of comparisons; a single one is an operator of the operands."""
        symbols = [_SYMBOLS.get(type(op)) for op in node.ops]
        if len(node.ops) == 1 or None in symbols or syntax.has_walrus(node):
            return self.generic_visit(node)  # type: ignore[return-value]
        self.generic_visit(node)
        thunks = [syntax.thunk(comparator) for comparator in node.comparators]
        operators = ast.Tuple([ast.Constant(symbol) for symbol in symbols], ast.Load())
        return syntax.located(syntax.call("compare_chain", operators, node.left, *thunks), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """The body of a lambda."""
        # Its own names are bound when it is called; the others are checked where they are used.
        own = syntax.parameter_names(node.args)
        node.body = ExpressionRewriter(self._record, self._unbound - own).visit(node.body)
        return node

    def _comprehension(self, node: ast.expr) -> ast.expr:
        own = {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        inner = ExpressionRewriter(self._record, self._unbound - own)
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
