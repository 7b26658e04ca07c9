"""Arguments described in text, for compiling a kernel where no arrays are at hand.

::

    arguments = argument (whitespace argument)*
    argument  = [name "="] (array | dtype | literal)
    array     = dtype "[" extents "]" (":" modifier)*
    modifier  = "partition(" (extents | "auto") ")" | "accumulate" | "unchecked"
              | "strides(" extents ")"

``dtype`` is a short name such as ``bf16``, extents and strides count elements, and a literal is
Python's. Arrays are dense and row-major unless strides are given, and aligned to 128 bytes as
device allocations are; they become ``ArraySpec``s, which have no memory.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from tilec import _runtime
from tilec.arrays.description import ArraySpec
from tilec.diagnostics import TilecError
from tilec.lang.dtypes import BY_SHORT

_ARRAY = re.compile(
    r"(?P<dtype>\w+)\[(?P<shape>[\d,\s]*)\](?P<modifiers>(:\w+(\((auto|[\d,\s]*)\))?)*)"
)
_MODIFIER = re.compile(r":(\w+)(?:\((auto|[\d,\s]*)\))?")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)=(?!=)(.+)", re.DOTALL)


class DescriptionError(TilecError):
    """A description of arguments cannot be understood."""


def parse_arguments(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and the keyword arguments of a description.

    Raises:
        DescriptionError: the text does not follow the grammar.

    Example:
        >>> args, kwargs = parse_arguments("f32[8,16] 1.5 tk=64")
        >>> args[0].shape, args[1], kwargs
        ((8, 16), 1.5, {'tk': 64})
    """
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for word in _split(text):
        keyword = _KEYWORD.fullmatch(word)
        if keyword is not None:
            keywords[keyword[1]] = _value(keyword[2])
        elif keywords:
            raise DescriptionError(f"argument {word!r} without a name follows one with a name")
        else:
            positional.append(_value(word))
    return positional, keywords


def _split(text: str) -> list[str]:
    """Split at whitespace outside of brackets and quotes."""
    words = re.findall(r"(?:\[[^\]]*\]|\([^)]*\)|'[^']*'|\"[^\"]*\"|\S)+", text)
    return [word.strip() for word in words]


def _value(text: str) -> Any:
    array = _ARRAY.fullmatch(text)
    if array is not None:
        return _array(array["dtype"], _extents(array["shape"]), array["modifiers"])
    if text in BY_SHORT:
        return BY_SHORT[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise DescriptionError(
            f"cannot understand argument {text!r}",
            hint="an array is written bf16[4096,4096] or bf16[4096,4096]:partition(1,4096)",
        ) from None


def _array(dtype: str, shape: tuple[int, ...], modifiers: str) -> Any:
    if dtype not in BY_SHORT:
        raise DescriptionError(f"unknown dtype {dtype!r}, expected one of {', '.join(BY_SHORT)}")
    asked = dict(_MODIFIER.findall(modifiers))
    strides = _extents(asked.pop("strides")) if "strides" in asked else None
    array = ArraySpec(shape, BY_SHORT[dtype], strides=strides)
    if len(asked) > 1:
        raise DescriptionError(f"an array takes one access, found {' and '.join(asked)}")
    for access, extents in asked.items():
        return _marked(array, access, extents)
    return array


def _marked(array: ArraySpec, access: str, extents: str) -> Any:
    if access == "partition":
        return _runtime.partition(array, _runtime.AUTO if extents == "auto" else _extents(extents))
    if access == "accumulate":
        return _runtime.accumulate(array)
    if access == "unchecked":
        return _runtime.unchecked(array)
    raise DescriptionError(
        f"unknown modifier {access!r}, expected partition, accumulate, unchecked or strides"
    )


def _extents(text: str) -> tuple[int, ...]:
    if text == "auto":
        raise DescriptionError("auto stands for a tile shape, as in partition(auto)")
    return tuple(int(part) for part in text.replace(" ", "").split(",") if part)
