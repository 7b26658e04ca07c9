"""What a code object does and which names it loads, read from its bytecode."""

from __future__ import annotations

import dis
import functools
import hashlib
import json
import struct
import sys
from types import CodeType
from typing import cast

from tilec.lang.dtypes import DType

_LOAD_NAME = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"} | {
    "LOAD_FROM_DICT_OR_GLOBALS",
    "LOAD_FROM_DICT_OR_DEREF",
}
_LOAD_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}


@functools.lru_cache(maxsize=1024)
def loaded_names(code: CodeType) -> tuple[tuple[str, ...], ...]:
    """Return the global and free names a code object loads, each with its chain of attributes.

    Example:
        >>> loaded_names((lambda x: a.b.c(x) + d).__code__)
        (('a', 'b', 'c'), ('d',))
    """
    chains: list[tuple[str, ...]] = []
    inside = False
    for instruction in dis.get_instructions(code):
        if instruction.opname in _LOAD_NAME:
            chains.append((instruction.argval,))
            inside = True
        elif instruction.opname in _LOAD_ATTRIBUTE and inside:
            chains[-1] += (instruction.argval,)
        elif instruction.opname != "EXTENDED_ARG":
            inside = False
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            chains += [
                chain for chain in loaded_names(constant) if chain[0] not in code.co_cellvars
            ]
    known = (chain for chain in chains if chain[0] not in code.co_cellvars)
    return tuple(sorted(set(known)))


@functools.lru_cache(maxsize=1024)
def code_digest(code: CodeType) -> str:
    """Return a digest of what a code object does: not of its lines, file or place in a class."""
    parts = [
        code.co_code.hex(),
        [_constant(constant) for constant in code.co_consts],
        [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars],
        [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags],
        getattr(code, "co_exceptiontable", b"").hex(),
        sys.version_info[:2],
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def place_content(code: CodeType) -> list[object]:
    """Return where a code object and those inside it lie: file and lines."""
    inner = [
        place_content(constant) for constant in code.co_consts if isinstance(constant, CodeType)
    ]
    lines = [line for _, line in dis.findlinestarts(code)]
    return [code.co_filename, lines, inner]


def _constant(value: object) -> object:
    """Return the content of a literal: code, a scalar, or a (frozen) collection of them."""
    if isinstance(value, CodeType):
        return ["code", code_digest(value)]
    if isinstance(value, (tuple, frozenset)):
        items = cast("tuple[object, ...] | frozenset[object]", value)
        contents = [_constant(item) for item in items]
        if isinstance(items, frozenset):
            contents.sort(key=json.dumps)
        return [type(items).__name__, contents]
    return scalar_content(value) or ["literal", repr(value)]


def scalar_content(value: object) -> object:
    """Return the content of a value without parts, else None. Types keep 1, 1.0 and True apart."""
    if value is None or value is Ellipsis or value is NotImplemented:
        return [repr(value)]
    if type(value) in (bool, int, str):
        return [type(value).__name__, value]
    if type(value) is float:
        return ["float", struct.pack("<d", value).hex()]
    if type(value) is complex:
        return ["complex", struct.pack("<dd", value.real, value.imag).hex()]
    if type(value) is bytes:
        return ["bytes", value.hex()]
    if isinstance(value, DType):
        return ["dtype", value.name]
    return None
