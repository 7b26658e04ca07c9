"""Python's debugger at a line of a kernel, with the values that a program has there.

The debugger stops in a frame. The frame of the author's function is gone since tracing, so a frame
is made that looks like it: the code of two statements that claims to lie in the author's file.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, TypeAlias, cast

import numpy as np

from tilec.diagnostics import Frame as SourceFrame
from tilec.execute.numerics import Array

Stop: TypeAlias = Callable[[tuple[int, ...], Mapping[str, Any]], None]

_HOOK = "__tilec_stop__"
# Until Python 3.13 a debugger stops at the next line that runs, from then on at the call itself.
_STOPS_AT_CALL = sys.version_info >= (3, 13)


def stop_at(place: SourceFrame | None) -> Stop:
    """Return what stops in the debugger at a place in the source.

    The returned function takes the program's coordinates and the variables by name; a name may be a
    path into a tuple, ``pair.0``.
    """
    code = _code_at(place)

    def stop(program: tuple[int, ...], variables: Mapping[str, Any]) -> None:
        print(f"breakpoint in program {program}", flush=True)
        shown = {name: _read_only(value) for name, value in variables.items()}
        scope: dict[str, Any] = {"__builtins__": builtins, "__name__": "__kernel__", "np": np}
        scope[_HOOK] = sys.breakpointhook
        exec(code, scope, {"program": program, **_nested(shown)})

    return stop


def _code_at(place: SourceFrame | None) -> CodeType:
    """Return code that calls the hook and then stands at ``place``."""
    span = place.span if place else None
    line = span.line if span else 1
    first = line if _STOPS_AT_CALL else max(line - 1, 1)
    call = ast.Expr(ast.Call(ast.Name(_HOOK, ast.Load()), [], []))
    module = ast.Module([call, ast.Pass()], [])
    for statement, where in ((call, first), (module.body[1], line)):
        for node in ast.walk(statement):
            ast.copy_location(node, ast.Pass(lineno=where, col_offset=0, end_lineno=where))
    code = compile(ast.fix_missing_locations(module), span.file if span else "<kernel>", "exec")
    return code.replace(co_name=place.function if place else "kernel")


def _read_only(value: Any) -> Any:
    """Return a value whose change would not be the program's: arrays without the right to write."""
    if not isinstance(value, np.ndarray):
        return value
    array: Array = cast(Array, value).view()
    array.flags.writeable = False
    return array if array.ndim else array[()]


def _nested(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Put the items of tuples together.

    Example:
        >>> _nested({"a": 1, "pair.0": 2, "pair.1.0": 3})
        {'a': 1, 'pair': (2, (3,))}

    An item that has no value here is ``...``.
    """
    groups: dict[str, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    for path, value in variables.items():
        name, dot, rest = path.partition(".")
        if dot:
            groups.setdefault(name, {})[rest] = value
        else:
            whole[name] = value
    for name, items in groups.items():
        inner = _nested(items)
        length = 1 + max(map(int, inner))
        whole[name] = tuple(inner.get(str(number), ...) for number in range(length))
    return whole
