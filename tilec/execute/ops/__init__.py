"""One file a family of ops; importing a file registers its handlers."""

from __future__ import annotations

import importlib

_FAMILIES = (
    "control_flow",
    "convert",
    "debug",
    "floating",
    "integer",
    "memory",
    "mma",
    "reduce",
    "shape",
)


def register_all() -> None:
    """Import every family."""
    for family in _FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
