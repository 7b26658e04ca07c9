"""Which handler compiles which op.

A handler turns one op into a Python callable, once per kernel. Two kinds exist:

- a *pure* handler returns a function of the operands' values that returns the result's value
  (a tuple for several results); everything elementwise is of this kind;
- a *step* handler returns a function of the whole `Frame`; it is for ops with regions, effects
  or a view of the launch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tilec.execute.frame import Frame
    from tilec.execute.lower import KernelLowering

#: An operation of the MLIR Python bindings, which carry no types.
Operation: TypeAlias = Any
#: A tile or scalar (NumPy), or a `View`.
Value: TypeAlias = Any
Step: TypeAlias = "Callable[[Frame], None]"
PureHandler: TypeAlias = Callable[[Operation], Callable[..., Value]]
StepHandler: TypeAlias = "Callable[[Operation, KernelLowering], Step]"

PURE_HANDLERS: dict[str, PureHandler] = {}
STEP_HANDLERS: dict[str, StepHandler] = {}


def pure(*names: str) -> Callable[[PureHandler], PureHandler]:
    """Register a handler for ops that map operand values to result values."""

    def register(handler: PureHandler) -> PureHandler:
        for name in names:
            _claim(name)
            PURE_HANDLERS[name] = handler
        return handler

    return register


def step(*names: str) -> Callable[[StepHandler], StepHandler]:
    """Register a handler for ops that need the frame."""

    def register(handler: StepHandler) -> StepHandler:
        for name in names:
            _claim(name)
            STEP_HANDLERS[name] = handler
        return handler

    return register


def pure_table(table: dict[str, Callable[..., Value]]) -> None:
    """Register ops whose function does not depend on attributes or types."""

    def constant(function: Callable[..., Value]) -> PureHandler:
        return lambda op: function

    for name, function in table.items():
        _claim(name)
        PURE_HANDLERS[name] = constant(function)


def _claim(name: str) -> None:
    if name in PURE_HANDLERS or name in STEP_HANDLERS:
        raise ValueError(f"two handlers for {name}")
