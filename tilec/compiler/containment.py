"""Running the C++ compiler so that none of its faults takes the program down.

The first compilations run in this process, where the compiler catches its own crashes. After one,
and whenever another thread is compiling, a worker process does the work: nothing of a crashed
compiler is trusted, and a hang can only be ended with its process.
"""

from __future__ import annotations

import importlib
import json
import os
import threading
from typing import Any, Protocol, cast

from tilec import settings
from tilec.compiler.worker import Worker, WorkerError


class Extension(Protocol):
    """What the compiled extension offers (dialects/python/TilecExtension.cpp)."""

    def compile_json(self, bytecode: bytes, options: str) -> str:
        """Compile a module; the result is JSON text."""
        ...

    def ir_key(self, bytecode: bytes) -> str:
        """Return the digest of the canonical module."""
        ...

    def summarize(self, bytecode: bytes) -> str:
        """Return what a plan needs to know of a kernel, as JSON text."""
        ...

    def print_module(self, bytecode: bytes, locations: bool) -> str:
        """Return the textual form of a module."""
        ...

    def opt_main(self, arguments: list[str]) -> int:
        """Run tilec-opt."""
        ...


def extension() -> Extension:
    """Return the compiled extension, loaded at the first call."""
    return cast(Extension, importlib.import_module("tilec._mlir._mlir_libs._tilec"))


class _State:
    """Whether this process has seen a fault, is compiling, and which workers wait for work."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.faulted = False
        self.compiling_here = False
        self.idle: list[Worker] = []
        self.places = threading.Semaphore(os.cpu_count() or 1)


_state = _State()
os.register_at_fork(after_in_child=lambda: _state.__init__())


def run_compiler(bytecode: bytes, options: str) -> dict[str, Any]:
    """Compile in this process or in a worker; return the compiler's JSON result.

    A worker that dies or hangs gives the result of a fault.
    """
    if not _begin_here(settings.current().containment):
        with _state.places:
            return _run_in_worker(bytecode, options)
    try:
        result = json.loads(extension().compile_json(bytecode, options))
    finally:
        _state.compiling_here = False
    if result["status"] == "fault":
        note_fault()
    return result


def note_fault() -> None:
    """From now on, compile in workers."""
    _state.faulted = True


def _begin_here(containment: str) -> bool:
    """Tell whether the caller may compile in this process, and if so, note that it does."""
    with _state.lock:
        crowded = _state.faulted or _state.compiling_here
        if containment == "worker" or (containment == "auto" and crowded):
            return False
        _state.compiling_here = True
        return True


def _run_in_worker(bytecode: bytes, options: str) -> dict[str, Any]:
    with _state.lock:
        worker = _state.idle.pop() if _state.idle else None
    worker = worker or Worker()
    try:
        result = worker.compile(bytecode, options, settings.current().compile_timeout_s)
    except WorkerError as error:
        worker.stop()
        return {"status": "fault", "phase": "unknown", "message": str(error)}
    except BaseException:  # an interrupt leaves the worker in the middle of its answer
        worker.stop()
        raise
    if result["status"] == "fault":
        worker.stop()
    else:
        with _state.lock:
            _state.idle.append(worker)
    return result
