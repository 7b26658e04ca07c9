"""The CPU executor: runs a kernel's ``tile`` module on NumPy arrays, program by program.

It is what launches on NumPy arrays use, and the oracle that the GPU's results are tested against.
"""

from __future__ import annotations

from tilec.execute.errors import ExecutionError, SanitizerError
from tilec.execute.executor import execute
from tilec.execute.sanitizer import uninitialized

__all__ = ["ExecutionError", "SanitizerError", "execute", "uninitialized"]
