"""The parameters of a kernel function, as the runtime binds them."""

from __future__ import annotations

import inspect
import types
from typing import Any, TypeAlias

from tilec.diagnostics import Frame, Span, TraceError
from tilec.lang.program import ConstantMark

Parameter: TypeAlias = "tuple[str, bool, bool] | tuple[str, bool, bool, object]"
"""Name, whether it is a compile-time constant, whether keyword-only, and a default if any."""

_LAUNCH_KEYWORDS = ("stream", "grid")


def parameters_of(function: types.FunctionType) -> tuple[Parameter, ...]:
    """Return the parameters of a kernel function, in order.

    Raises:
        TraceError: the function takes ``*args`` or ``**kwargs``, or a parameter has the name of a
            keyword of the launch.
    """
    return tuple(_parameter(function, item) for item in _signature(function))


def _signature(function: types.FunctionType) -> list[inspect.Parameter]:
    return list(inspect.signature(function, follow_wrapped=False).parameters.values())


def _parameter(function: types.FunctionType, item: inspect.Parameter) -> Parameter:
    if item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD):
        raise _refusal(function, f"a kernel's parameters must be named, found {item}")
    if item.name in _LAUNCH_KEYWORDS:
        raise _refusal(
            function,
            f"a kernel's parameter must not be named {item.name!r}, which is a keyword of launches",
        )
    constant = _is_constant(function, item.annotation)
    keyword_only = item.kind is item.KEYWORD_ONLY
    if item.default is item.empty:
        return item.name, constant, keyword_only
    return item.name, constant, keyword_only, item.default


def _refusal(function: types.FunctionType, message: str) -> TraceError:
    code = function.__code__
    return TraceError(
        message, frames=[Frame(Span(code.co_filename, code.co_firstlineno), function.__name__)]
    )


def _is_constant(function: types.FunctionType, annotation: Any) -> bool:
    if isinstance(annotation, str):
        annotation = _evaluate(function, annotation)
    marks = getattr(annotation, "__metadata__", ())
    return any(isinstance(mark, ConstantMark) for mark in marks)


def _evaluate(function: types.FunctionType, annotation: str) -> Any:
    """Return what a postponed annotation stands for: ``tl.Constant`` of ``tl.Constant[int]``.

    Only the part before the bracket is looked up, so that the type inside may be a name that
    exists for type checkers alone.
    """
    first, *attributes = annotation.partition("[")[0].strip().split(".")
    scope = {**function.__globals__, **_closure(function)}
    value = scope.get(first)
    for attribute in attributes:
        value = getattr(value, attribute, None)
    return value


def _closure(function: types.FunctionType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return found
