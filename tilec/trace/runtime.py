"""What rewritten functions call: the object that they know as ``__tilec__``."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from tilec.diagnostics import ControlFlowError, TraceError
from tilec.lang.elementwise import bitwise, compare, maximum, minimum, select_op
from tilec.lang.operands import describe
from tilec.lang.values import INDEX, Scalar, Tile, Traced, Undefined
from tilec.trace.branches import Branch, describe_return, truth
from tilec.trace.loops import ForLoop, RuntimeRange, WhileLoop, none_of
from tilec.trace.slots import UNSET, Unset
from tilec.trace.statements import Statement

KERNEL_ATTRIBUTE = "__tilec_kernel__"
"""Set on kernels, so that calling one from another is refused."""


class Runtime:
    """The control flow of one rewritten function.

    Args:
        statements: What the rewriting knows of each statement.
        convert: Rewrites a Python function that the code calls.
    """

    def __init__(
        self, statements: Sequence[Statement], convert: Callable[[FunctionType], FunctionType]
    ) -> None:
        self._statements = statements
        self._convert = convert

    # -- statements --------------------------------------------------------------------------

    def if_(self, number: int, condition: Any) -> Branch:
        """The state of an `if`."""
        flag = truth(condition)
        return Branch(self._statements[number], flag if isinstance(flag, bool) else flag.handle)

    def for_loop(self, number: int, iterable: Any) -> ForLoop:
        """The state of a `for`."""
        if isinstance(iterable, Traced):
            raise ControlFlowError(
                f"{describe(iterable)} cannot be looped over", hint="loop over range(n)"
            )
        return ForLoop(self._statements[number], iterable)

    def while_loop(self, number: int) -> WhileLoop:
        """The state of a `while`."""
        return WhileLoop(self._statements[number])

    # -- names -------------------------------------------------------------------------------

    def undefined(self, name: str) -> Undefined:
        """What a variable holds before anything is bound to it."""
        return Undefined(name, f"{name} has not been bound on this path")

    def bound(self, value: Any) -> Any:
        """A variable that some path may leave unbound."""
        if isinstance(value, Undefined):
            raise value.error()
        return value

    def unset(self) -> Unset:
        """What a function returns that has not returned yet."""
        return UNSET

    def returned(self, always: bool, flag: Any, value: Any) -> Any:
        """The result of a function with early returns, which may or may not return on all paths."""
        if isinstance(flag, Traced) and not always:
            if value is not None and not isinstance(value, Unset):
                raise TraceError(
                    "the paths of this function return different things: "
                    f"{describe_return(value)} and nothing",
                    hint="return the same number of values, of one dtype and shape, on every path",
                )
            return None
        return value if always or flag else None

    # -- expressions -------------------------------------------------------------------------

    def not_(self, value: Any) -> Any:
        """``not value``."""
        flag = truth(value) if isinstance(value, Traced) else value
        return bitwise("^", flag, True) if isinstance(flag, Traced) else not flag

    def and_(self, left: Any, right: Callable[[], Any]) -> Any:
        """``left and right()``."""
        if not isinstance(left, Traced):
            return left and right()
        return self._logical("&", left, right())

    def or_(self, left: Any, right: Callable[[], Any]) -> Any:
        """``left or right()``."""
        if not isinstance(left, Traced):
            return left or right()
        return self._logical("|", left, right())

    def _logical(self, symbol: str, left: Traced, right: Any) -> Any:
        flag = truth(left)
        if left.dtype.is_bool and not isinstance(right, Traced):
            return bitwise(symbol, flag, bool(right))
        if left.dtype.is_bool and right.dtype.is_bool:
            return bitwise(symbol, flag, truth(right))
        yes, no = (right, left) if symbol == "&" else (left, right)
        return select_op(flag, yes, no)

    def choose(
        self, number: int, condition: Any, yes: Callable[[], Any], no: Callable[[], Any]
    ) -> Any:
        """``yes() if condition else no()``."""
        flag = truth(condition)
        if isinstance(flag, bool):
            return yes() if flag else no()
        statement = self._statements[number]
        named = Statement(statement.kind, statement.span, ("this expression",))
        branch = Branch(named, flag.handle)
        value: Any = UNSET
        while branch.advance((value,)):
            branch.leave((yes() if branch.then else no(),))
        return branch.results(())[0]

    def compare_chain(self, symbols: Sequence[str], first: Any, *rest: Callable[[], Any]) -> Any:
        """``a < b() < c()``."""
        result: Any = True
        left = first
        for symbol, thunk in zip(symbols, rest, strict=True):
            right = thunk()
            link = (
                compare(symbol, left, right)
                if _any_traced(left, right)
                else _PYTHON[symbol](left, right)
            )
            result = self.and_(result, functools.partial(_identity, link))
            if not isinstance(result, Traced) and not result:
                return result
            left = right
        return result

    def none_of(self, *flags: Any) -> Any:
        """Whether no jump has been taken."""
        return none_of(*flags)

    # -- calls -------------------------------------------------------------------------------

    def function(self, callee: Any) -> Any:
        """What to call instead of ``callee`` while tracing."""
        kind: Any = callee.__class__
        if kind is FunctionType:
            return self._convert(callee)
        if kind is MethodType:
            return self._method(callee)
        if kind is BuiltinFunctionType or kind is type:
            return _BUILTINS.get(callee, callee)
        if kind is functools.partial:
            inner = self.function(callee.func)
            return functools.partial(inner, *callee.args, **callee.keywords)
        return self._other(callee)

    def _method(self, method: MethodType) -> Any:
        inner: Any = method.__func__
        if type(inner) is not FunctionType:
            return method
        return MethodType(self._convert(inner), method.__self__)

    def _other(self, callee: object) -> Any:
        if getattr(callee, KERNEL_ATTRIBUTE, False):
            raise TraceError(
                f"kernel {getattr(callee, '__name__', callee)} is called from a kernel",
                hint="kernels are launched from the host; share code in a plain function",
            )
        if isinstance(callee, Undefined):
            raise callee.error()
        call: Any = inspect.getattr_static(type(callee), "__call__", None)
        if type(call) is FunctionType and not isinstance(callee, type):
            return MethodType(self._convert(call), callee)
        return callee


def _identity(value: Any) -> Any:
    return value


def _any_traced(*values: Any) -> bool:
    return any(isinstance(value, Traced) for value in values)


def _range(*arguments: Any) -> Any:
    if not _any_traced(*arguments):
        return range(*arguments)
    if len(arguments) > 3:
        raise TraceError(f"range takes at most 3 arguments, found {len(arguments)}")
    start, stop, step = (0, arguments[0], 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    return RuntimeRange(start, stop, step)


def _print(*values: Any, **options: Any) -> None:
    if _any_traced(*values):
        raise TraceError(
            "print() runs while the kernel is traced, when a tile has no value yet",
            hint='use tl.print("{}", x) at run time, or tl.static_print(x) for its type',
        )
    builtins.print(*values, **options)


def _extreme(name: str, python: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def choose(*values: Any, **options: Any) -> Any:
        items = values if len(values) > 1 else tuple(values[0]) if values else ()
        if options or not _any_traced(*items):
            return python(*values, **options)
        return functools.reduce(ours, items)

    choose.__name__ = name
    return choose


def _bool(value: Any = False) -> Any:
    return truth(value)


def _number(name: str, python: type, dtype: str) -> Callable[..., Any]:
    def convert(*arguments: Any) -> Any:
        if not _any_traced(*arguments):
            return python(*arguments)
        (value,) = arguments
        if isinstance(value, Tile):
            raise ControlFlowError(
                f"{name}() takes one compile-time number, found {describe(value)}",
                hint=f"convert every element: x.to(tl.{dtype})",
            )
        return _weak_conversion(value, python)

    return convert


def _weak_conversion(value: Scalar, python: type) -> Scalar:
    """int() and float() of a run-time scalar stay weak."""
    from tilec.lang import dtypes

    target = dtypes.float32 if python is float else dtypes.int64
    converted = value.to(target)
    if python is float:
        return Scalar(converted.handle, dtypes.float32, weak=True)
    from tilec.lang.operands import index_handle

    return Scalar(index_handle("int", converted), INDEX, weak=True)


def _sum(values: Any, start: Any = 0) -> Any:
    if isinstance(values, Traced):
        raise ControlFlowError(
            f"sum() cannot iterate over {describe(values)}", hint="use tl.sum(x, axis=...)"
        )
    return builtins.sum(values, start)


_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}

_BUILTINS: dict[Any, Callable[..., Any]] = {
    range: _range,
    print: _print,
    sum: _sum,
    min: _extreme("min", min, minimum),
    max: _extreme("max", max, maximum),
    bool: _bool,
    float: _number("float", float, "float32"),
    int: _number("int", int, "int32"),
}
