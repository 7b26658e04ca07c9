"""A process that compiles: both ends of it.

The parent writes requests to its standard input and reads answers from its standard output. Every
message is a list of parts, each a length and its bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import struct
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import IO, Any

_LENGTH = struct.Struct("<Q")

_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); " + (
    "from tilec.compiler.worker import serve; serve()"
)
"""What the process runs: isolated, with the parent's search path and nothing of its directory."""


class WorkerError(Exception):
    """The worker died or did not answer in time; the text says which."""


class Worker:
    """The parent's end of one worker process."""

    def __init__(self) -> None:
        path = [str(Path(__file__).resolve().parents[2]), *filter(None, sys.path)]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._finalizer = weakref.finalize(self, _end, self._process, os.getpid())

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def compile(self, bytecode: bytes, options: str, timeout_s: float) -> dict[str, Any]:
        """Have a module compiled; return the compiler's JSON result.

        Raises:
            WorkerError: the process died or took longer than ``timeout_s``.
        """
        until = time.monotonic() + timeout_s
        assert self._process.stdin is not None
        try:
            _write_parts(self._process.stdin, bytecode, options.encode())
            return json.loads(self._read_part(until, timeout_s))
        except (BrokenPipeError, EOFError):
            self._process.kill()
            code = self._process.wait()
            raise WorkerError(f"the compiler process ended with {_describe(code)}") from None

    def stop(self) -> None:
        """End the process."""
        self._finalizer()

    def _read_part(self, until: float, timeout_s: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)

            def read(count: int) -> bytes:
                content = b""
                while len(content) < count:
                    if not selector.select(max(0.0, until - time.monotonic())):
                        raise WorkerError(f"no answer within {timeout_s:g} s")
                    chunk = os.read(descriptor, min(count - len(content), 2**20))
                    if not chunk:
                        raise EOFError
                    content += chunk
                return content

            return read(_LENGTH.unpack(read(_LENGTH.size))[0])


def serve() -> None:
    """Answer requests until the input ends: what the process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    # Only answers may go to the pipe: whatever else is printed goes to standard error.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    from tilec.compiler.containment import extension

    compiler = extension()
    while True:
        try:
            bytecode, options = _read_parts(sys.stdin.buffer, 2)
        except EOFError:
            return
        _write_parts(answers, compiler.compile_json(bytecode, options.decode()).encode())


def _end(process: subprocess.Popen[bytes], parent: int) -> None:
    """Close the pipes and end the process; a forked child of the parent only does the former."""
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
    if os.getpid() == parent:
        process.kill()
        process.wait()


def _write_parts(stream: IO[bytes], *parts: bytes) -> None:
    for part in parts:
        stream.write(_LENGTH.pack(len(part)))
        stream.write(part)
    stream.flush()


def _read_parts(stream: IO[bytes], count: int) -> list[bytes]:
    return [
        _read_exactly(stream, _LENGTH.unpack(_read_exactly(stream, 8))[0]) for _ in range(count)
    ]


def _read_exactly(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content


def _describe(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
