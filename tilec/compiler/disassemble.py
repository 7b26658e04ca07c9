"""Machine code to SASS, by the disassemblers of the CUDA toolkit."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tilec.compiler.assemble import find_cuda_tool
from tilec.diagnostics import CompileError

_COMMANDS: Mapping[str, tuple[str, ...]] = {"nvdisasm": (), "cuobjdump": ("-sass",)}


def disassemble(cubin: bytes) -> str:
    """Return the SASS text of a cubin.

    Raises:
        CompileError: there is no machine code, no disassembler, or it fails.
    """
    if not cubin:
        raise CompileError("there is no machine code: the driver is to assemble this kernel")
    for name, flags in _COMMANDS.items():
        path = find_cuda_tool(name)
        if path is not None:
            return _run([path, *flags], cubin)
    raise CompileError(
        "sass needs nvdisasm or cuobjdump, found neither on PATH nor in CUDA_HOME",
        hint="they are part of the CUDA toolkit (nvidia.com/cuda-downloads)",
    )


def _run(command: list[str], cubin: bytes) -> str:
    with tempfile.TemporaryDirectory(prefix="tilec-sass-") as directory:
        path = Path(directory, "kernel.cubin")
        path.write_bytes(cubin)
        done = subprocess.run([*command, str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        raise CompileError(f"{command[0]} failed: {done.stderr.strip()}")
    return done.stdout
