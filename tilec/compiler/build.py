"""Which build of tilec this is: part of every cache key.

An installed package is known by the hashes in its ``RECORD``, which cost one small file to read. A
checkout has none; there, size and modification time of each file stand in for its content. That is
quick, and at worst compiles once more than needed.
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_COMPILER = ("_mlir/_mlir_libs", "compiler")
_FRONT = ("lang", "trace")


@functools.cache
def compiler_build() -> str:
    """Return the identity of what turns a `tile` module into a cubin."""
    return _identity(_COMPILER)


@functools.cache
def whole_build() -> str:
    """Return the identity of everything between a Python function and its cubin."""
    return _identity(_COMPILER + _FRONT)


def _identity(rooms: tuple[str, ...]) -> str:
    lines = _recorded(_PACKAGE, rooms) or _present(_PACKAGE, rooms)
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _recorded(package: Path, rooms: tuple[str, ...]) -> list[str]:
    """Return the lines of an installed package's RECORD that belong to some rooms."""
    starts = tuple(f"{package.name}/{room}/" for room in rooms)
    for record in package.parent.glob(f"{package.name}-*.dist-info/RECORD"):
        lines = record.read_text().splitlines()
        return [line for line in lines if line.startswith(starts) and ".pyc," not in line]
    return []


def _present(package: Path, rooms: tuple[str, ...]) -> list[str]:
    """Return a line for each file of some rooms, of a package that is not installed."""
    lines: list[str] = []
    for room in rooms:
        for place, _, names in os.walk(package / room):
            for name in names:
                if name.endswith((".py", ".so")):
                    status = os.stat(os.path.join(place, name))
                    lines.append(f"{room}/{name},{status.st_size},{status.st_mtime_ns}")
    return lines
