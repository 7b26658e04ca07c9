"""PTX to machine code: nvJitLink in this process, else ptxas, else the driver at load time.

nvJitLink comes with ``pip install`` and needs no process of its own, which makes it two to three
times faster than ptxas. The driver's own assembler is the last resort: it is as old as the driver,
and its code is not in our disk cache.

nvJitLink assembles relocatable code, in which a thread keeps the registers that it starts with: a
kernel that moves registers from one warp to another (setmaxnreg) and needs them spills there, and
nowhere else. Such kernels go to ptxas first, then to the driver.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tilec import _runtime, settings
from tilec.compiler.assembler_log import (
    AssemblerError,
    Resources,
    read_errors,
    read_resources,
    source_of,
)
from tilec.compiler.target import Target
from tilec.diagnostics import CompileError, Frame, Note, Span, TilecError

PTXAS_DENIED = MappingProxyType(
    {
        "12.8.93": "it miscompiled a public kernel",
        "13.0.88": "it emitted an invalid shared-memory write for a public kernel",
    }
)
"""Releases of ptxas that are used only when chosen by name (``TILEC_ASSEMBLER=ptxas``)."""

SAME_AS_NVJITLINK = frozenset({"13.0.88"})
"""Denied releases whose code generator nvJitLink of the same release has too: where nvJitLink's
relocatable code is worse, they are no worse a choice than it is."""


@dataclass(frozen=True)
class Assembled:
    """Machine code and who made it.

    Attributes:
        cubin: empty when the driver is to assemble the PTX as it loads it.
        assembler: name and version, for example ``nvJitLink 13.5``.
        log: the assembler's words.
        resources: what the kernel uses; None when only the driver will know.
    """

    cubin: bytes
    assembler: str
    log: str
    resources: Resources | None


class Unavailable(Exception):
    """An assembler is not on this machine; the text says why."""


class Refused(Exception):
    """An assembler ran and refused its input; ``log`` has its words."""

    def __init__(self, assembler: str, log: str) -> None:
        super().__init__(log)
        self.assembler = assembler
        self.log = log


def assemble(
    ptx: str,
    target: Target,
    symbol: str,
    choice: str | None = None,
    *,
    whole_program: bool = False,
) -> Assembled:
    """Assemble one module.

    Args:
        ptx: the module's text.
        target: whose machine code to make.
        symbol: the kernel whose resources are wanted.
        choice: ``"auto"``, ``"nvjitlink"``, ``"ptxas"`` or ``"driver"``; the setting by default.
        whole_program: the kernel suffers from being assembled as relocatable code.

    Raises:
        CompileError: the assembler refused the text, or there is no assembler.
    """
    choice = choice or settings.current().assembler
    reasons: list[str] = []
    for name, run in _candidates(choice, whole_program):
        try:
            cubin, assembler, log = run(ptx, target)
        except Unavailable as missing:
            reasons.append(f"{name}: {missing}")
        except Refused as refusal:
            raise _explain(refusal, ptx, symbol) from None
        else:
            return Assembled(cubin, assembler, log, read_resources(log, symbol))
    raise CompileError(
        f"no assembler for {target.name} ({'; '.join(reasons)})",
        hint="pip install nvidia-nvjitlink",
    )


_Run = Callable[[str, Target], tuple[bytes, str, str]]


def _candidates(choice: str, whole_program: bool) -> list[tuple[str, _Run]]:
    by_name: dict[str, tuple[str, _Run]] = {
        "nvjitlink": ("nvJitLink", _nvjitlink),
        "ptxas": ("ptxas", _ptxas),
        "driver": ("driver", _driver),
    }
    if choice != "auto":
        return [by_name[choice]]
    if whole_program:
        return [("ptxas", _equal_ptxas), by_name["driver"], by_name["nvjitlink"]]
    return [by_name["nvjitlink"], ("ptxas", _trusted_ptxas), by_name["driver"]]


def _nvjitlink(ptx: str, target: Target) -> tuple[bytes, str, str]:
    name = f"nvJitLink {nvjitlink_version()}"
    options = [f"-arch={target.name}", "-verbose"]
    try:
        cubin, log = _runtime.nvjitlink_link(ptx.encode(), options, _nvjitlink_library())
    except _runtime.NvJitLinkError as error:
        raise Refused(name, str(error)) from None
    return cubin, name, log


def nvjitlink_version() -> str:
    """Return the version of the nvJitLink library in use.

    Raises:
        Unavailable: there is none.
    """
    try:
        return ".".join(map(str, _runtime.nvjitlink_version(_nvjitlink_library())))
    except (RuntimeError, TilecError) as error:
        raise Unavailable(str(error)) from None


@functools.cache
def _nvjitlink_library() -> str:
    """Return the library of the nvidia-nvjitlink wheel, or an empty string without the wheel."""
    try:
        wheel = importlib.util.find_spec("nvidia.cu13")
    except ModuleNotFoundError:
        wheel = None
    for place in (wheel.submodule_search_locations or ()) if wheel else ():
        for library in Path(place, "lib").glob("libnvJitLink.so.*"):
            return str(library)
    return ""


def _trusted_ptxas(ptx: str, target: Target) -> tuple[bytes, str, str]:
    _, version = find_ptxas()
    if version in PTXAS_DENIED:
        raise Unavailable(f"release {version} is passed over: {PTXAS_DENIED[version]}")
    return _ptxas(ptx, target)


def _equal_ptxas(ptx: str, target: Target) -> tuple[bytes, str, str]:
    _, version = find_ptxas()
    return (_ptxas if version in SAME_AS_NVJITLINK else _trusted_ptxas)(ptx, target)


def _ptxas(ptx: str, target: Target) -> tuple[bytes, str, str]:
    path, version = find_ptxas()
    name = f"ptxas {version}"
    with tempfile.TemporaryDirectory(prefix="tilec-ptxas-") as directory:
        source, output = Path(directory, "kernel.ptx"), Path(directory, "kernel.cubin")
        source.write_text(ptx)
        command = [path, f"-arch={target.name}", "-v", "-o", str(output), str(source)]
        limit_s = settings.current().compile_timeout_s
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise Refused(name, f"ptxas error : took longer than {limit_s:g} s") from None
        log = done.stdout + done.stderr
        if done.returncode != 0:
            raise Refused(name, log)
        return output.read_bytes(), name, log


def find_cuda_tool(name: str) -> str | None:
    """Return the path of a tool of the CUDA toolkit, or None.

    ``PATH`` goes first, then ``CUDA_HOME``, ``CUDA_PATH`` and the toolkit's usual place.
    """
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [os.environ.get("PATH", ""), *(str(Path(root, "bin")) for root in roots if root)]
    return shutil.which(name, path=os.pathsep.join(places))


@functools.cache
def find_ptxas() -> tuple[str, str]:
    """Return path and version of ptxas.

    Raises:
        Unavailable: there is none.
    """
    path = find_cuda_tool("ptxas")
    if path is None:
        raise Unavailable("not on PATH nor in CUDA_HOME")
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{path} does not run: {error}") from None
    version = re.search(r"\bV(\d+(?:\.\d+)+)", told.stdout)
    if told.returncode != 0 or version is None:
        raise Unavailable(f"{path} does not tell its version")
    return path, version[1]


def _driver(ptx: str, target: Target) -> tuple[bytes, str, str]:
    """Leave the work to the driver, which assembles PTX as it loads it."""
    del ptx, target
    try:
        version = _runtime.driver_version()
    except TilecError as error:
        raise Unavailable(error.message) from None
    return b"", f"driver {version // 1000}.{version % 1000 // 10}", ""


def _explain(refusal: Refused, ptx: str, symbol: str) -> CompileError:
    """Turn a refusal into an error that shows the PTX line and the Python line it came from."""
    errors = read_errors(refusal.log) or (AssemblerError(refusal.log.strip() or "no reason given"),)
    first = errors[0]
    reason = first.text[:1].lower() + first.text[1:]
    frames: list[Frame] = []
    notes: list[Note] = []
    if first.ptx_line is not None:
        lines = ptx.splitlines()
        shown = lines[first.ptx_line - 1].strip() if first.ptx_line <= len(lines) else ""
        notes.append(Note(f"line {first.ptx_line} of the PTX is `{shown}`"))
        source = source_of(ptx, first.ptx_line)
        if source is not None:
            frames.append(Frame(Span(*source), symbol))
    return CompileError(
        f"{refusal.assembler} refused the generated code: {reason}", frames=frames, notes=notes
    )
