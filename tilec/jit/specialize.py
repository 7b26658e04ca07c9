"""From the runtime's description of a launch to the signature that is traced and compiled."""

from __future__ import annotations

from typing import Any

from tilec.lang.dtypes import BY_SHORT
from tilec.trace.signature import ConstantSpec, ScalarSpec, Signature, Spec, TupleSpec, ViewSpec


def signature_of(specs: tuple[Any, ...], *, grouped: bool = False) -> Signature:
    """Return the signature that nested tuples of runtime/specification.h describe.

    Example:
        >>> signature_of((("scalar", "i32"),)).specs
        (ScalarSpec(dtype=int32),)
    """
    return Signature(tuple(_spec(*spec) for spec in specs), grouped)


def _spec(kind: str, first: Any, *rest: Any) -> Spec:
    if kind == "view":
        return ViewSpec(BY_SHORT[first], *rest)
    if kind == "scalar":
        return ScalarSpec(BY_SHORT[first])
    if kind == "constant":
        return ConstantSpec(first)
    return TupleSpec(tuple(_spec(*item) for item in first))
