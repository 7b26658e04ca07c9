"""What the benchmarks compare with, written for the comparison; each needs its framework."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType


def triton(operator: str) -> ModuleType | None:
    """Return the module with a Triton version of an operator, or None without Triton."""
    if importlib.util.find_spec("triton") is None:
        return None
    return importlib.import_module(f"baselines.triton_{operator}")
