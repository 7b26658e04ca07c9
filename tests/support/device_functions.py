"""vprintf and __assertfail as the driver provides them, for kernels that run on NumPy."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

import numpy as np

LOCAL_BASE = 1 << 60  # where a thread's own memory begins
TEXT_BASE = 1 << 61  # where constant texts begin
MOST_ARGUMENTS = 32


@dataclass
class DeviceFunctions:
    """The threads' own memory, constant texts, and what has been printed.

    Attributes:
        printed: one text a call of vprintf.
        failures: message, file, line and function of each failed assertion.
    """

    threads: int
    printed: list[str] = field(default_factory=list)
    failures: list[tuple[str, str, int, str]] = field(default_factory=list)

    def __post_init__(self):
        self.memory = np.zeros((self.threads, 0), np.uint8)
        self.texts: list[str] = []

    def allocate(self, count: int, alignment: int) -> np.ndarray:
        start = self.memory.shape[1]
        assert start % alignment == 0
        self.memory = np.pad(self.memory, ((0, 0), (0, count)), constant_values=0xA5)
        return np.full(self.threads, LOCAL_BASE + start)

    def write(self, address: int, data: np.ndarray, thread: int):
        start = address - LOCAL_BASE
        assert start + len(data) <= self.memory.shape[1], "write outside of a thread's memory"
        self.memory[thread, start : start + len(data)] = data

    def text_address(self, op, symbol: str) -> int:
        self.texts.append(text_named(op, symbol))
        return TEXT_BASE + len(self.texts) - 1

    def text(self, address: int) -> str:
        return self.texts[address - TEXT_BASE]

    def call(self, name: str, arguments: list[int], thread: int):
        if name == "vprintf":
            text, buffer = arguments
            promoted = self.memory[thread, buffer - LOCAL_BASE :].tobytes()
            self.printed.append(formatted(self.text(text), promoted, self.text))
            return
        message, file, line, function, character_bytes = arguments
        assert name == "__assertfail" and character_bytes == 1
        self.failures.append((self.text(message), self.text(file), line, self.text(function)))


def text_named(op, symbol):
    """The contents of a constant text of the module around an op."""
    while op.name != "builtin.module":
        op = op.parent.operation
    for candidate in op.regions[0].blocks[0].operations:
        attributes = candidate.operation.attributes
        if "sym_name" in attributes and attributes["sym_name"].value == symbol:
            text = attributes["value"].value
            assert text.endswith("\0") and text.count("\0") == 1
            return text[:-1]
    raise AssertionError(f"no text {symbol}")


def formatted(text, buffer, pointed) -> str:
    """What printf makes of a format and arguments that lie in memory as C's promotions leave them.

    Source: CUDA C++ Programming Guide, "Formatted Output"; ISO C 7.21.6.1 for the conversions.
    """
    offset, count = 0, 0

    def convert(match):
        nonlocal offset, count
        if match[0] == "%%":
            return "%"
        code = {"d": "i", "u": "I", "lld": "q", "llu": "Q", "s": "q"}.get(match[0][1:], "d")
        size = struct.calcsize(code)
        offset = -(-offset // size) * size
        (value,) = struct.unpack_from(f"<{code}", buffer, offset)
        offset, count = offset + size, count + 1
        if match[0] == "%s":
            return pointed(value)
        return match[0].replace("ll", "") % value

    line = re.sub(r"%(?:%|l*[du]|s|\.\d+g)", convert, text)
    assert count <= MOST_ARGUMENTS
    return line
