"""``tilec doctor``: what this machine has, what is missing, and how to fix it."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
from collections.abc import Iterator
from dataclasses import dataclass

from tilec import _runtime, settings
from tilec.compiler.assemble import PTXAS_DENIED, Unavailable, find_ptxas, nvjitlink_version
from tilec.compiler.containment import extension
from tilec.compiler.target import TARGETS, Target
from tilec.diagnostics import CompileError, DriverError
from tilec.jit.cache import DiskCache

_LIBRARIES = ("numpy", "ml_dtypes", "torch", "cupy", "jax", "numba")
_REQUIRED = ("numpy", "ml_dtypes")


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        subject: what was looked at.
        state: what was found.
        fix: what to do, when something is missing that is wanted.
        required: whether tilec cannot work without it.
    """

    subject: str
    state: str
    fix: str = ""
    required: bool = False


EPILOG = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    del parser


def run(options: argparse.Namespace) -> int:
    """Print the report; return 1 when something required is missing."""
    del options
    from rich.console import Console
    from rich.table import Table

    table = Table("", "found", "fix")
    findings = list(examine())
    for finding in findings:
        style = "red" if finding.required and finding.fix else "yellow" if finding.fix else None
        table.add_row(finding.subject, finding.state, finding.fix, style=style)
    Console().print(table)
    return int(any(finding.required and finding.fix for finding in findings))


def examine() -> Iterator[Finding]:
    """Look at everything tilec uses."""
    yield Finding("tilec", _version("tilec") or "a checkout, not installed")
    yield Finding("Python", f"{platform.python_version()}, {platform.machine()}")
    yield _compiler()
    yield from _assemblers()
    yield from _devices()
    yield _cache()
    for name in _LIBRARIES:
        yield _library(name)


def _compiler() -> Finding:
    try:
        extension()
    except ImportError as error:
        return Finding("compiler", str(error), "pip install --force-reinstall tilec", required=True)
    return Finding("compiler", f"targets {', '.join(TARGETS)}")


def _assemblers() -> Iterator[Finding]:
    try:
        yield Finding("nvJitLink", nvjitlink_version())
    except Unavailable as missing:
        yield Finding("nvJitLink", str(missing), "pip install nvidia-nvjitlink")
    try:
        path, version = find_ptxas()
    except Unavailable as missing:
        yield Finding("ptxas", f"{missing} (used only without nvJitLink)")
    else:
        denied = PTXAS_DENIED.get(version)
        note = f"; used only when chosen: {denied}" if denied else ""
        yield Finding("ptxas", f"{version}, {path}{note}")


def _devices() -> Iterator[Finding]:
    try:
        version = _runtime.driver_version()
        count = _runtime.device_count()
    except DriverError as error:
        yield Finding("driver", error.message, "install the NVIDIA driver to launch on a GPU")
        return
    yield Finding("driver", f"CUDA {version // 1000}.{version % 1000 // 10}")
    if count == 0:
        yield Finding("GPU", "none is visible", "check CUDA_VISIBLE_DEVICES")
    for ordinal in range(count):
        yield _device(ordinal)


def _device(ordinal: int) -> Finding:
    found = _runtime.device_properties(ordinal)
    memory_gib = found["memory_bytes"] / 2**30
    text = f"{found['name']}, {found['multiprocessors']} multiprocessors, {memory_gib:.0f} GiB"
    try:
        target = Target.of_capability(*found["capability"]).name
    except CompileError as error:
        return Finding(f"GPU {ordinal}", f"{text}, {error.message}", "use another GPU")
    return Finding(f"GPU {ordinal}", f"{text}, {target}")


def _cache() -> Finding:
    cache = DiskCache.from_settings()
    if cache.directory is None:
        return Finding("cache", "off", "unset TILEC_CACHE and TILEC_DUMP")
    problem = cache.probe()
    if problem is not None:
        return Finding("cache", f"{cache.directory}: {problem}", "set TILEC_CACHE_DIR")
    limit_mib = settings.current().cache_limit_bytes / 2**20
    size_mib = cache.size_bytes() / 2**20
    return Finding("cache", f"{cache.directory}, {size_mib:.1f} of {limit_mib:.0f} MiB")


def _library(name: str) -> Finding:
    version, required = _version(name), name in _REQUIRED
    fix = f"pip install {name}" if required and version is None else ""
    return Finding(name, version or "not installed", fix, required)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
