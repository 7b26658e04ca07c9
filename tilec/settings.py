"""Every ``TILEC_*`` environment variable, read once into one frozen record.

Nothing else in the package reads such a variable: a program that changes its environment after the
first use would otherwise meet a half-changed configuration.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


@dataclass(frozen=True)
class Settings:
    """What the environment says about tilec.

    Attributes:
        cache: ``"on"`` or ``"off"`` (``TILEC_CACHE``).
        cache_dir: the directory of the disk cache; None means the user's cache directory
            (``TILEC_CACHE_DIR``).
        cache_limit_bytes: entries used least recently go when the cache is larger
            (``TILEC_CACHE_LIMIT``, for example ``512M``).
        dump_dir: where each compilation leaves its phases; None means nowhere (``TILEC_DUMP``).
        assembler: ``"auto"``, ``"nvjitlink"``, ``"ptxas"`` or ``"driver"`` (``TILEC_ASSEMBLER``).
        compile_timeout_s: a compilation in a worker process that takes longer is stopped
            (``TILEC_COMPILE_TIMEOUT``).
        containment: ``"auto"`` compiles in this process until a compiler fault, then in a worker;
            ``"worker"`` always in a worker; ``"process"`` always here (``TILEC_CONTAINMENT``).
        sanitize: the CPU executor looks for races and other misuse (``TILEC_SANITIZE``).
    """

    cache: str = "on"
    cache_dir: Path | None = None
    cache_limit_bytes: int = 2 * 2**30
    dump_dir: Path | None = None
    assembler: str = "auto"
    compile_timeout_s: float = 300.0
    containment: str = "auto"
    sanitize: bool = False


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Read the settings from a mapping of environment variables.

    Raises:
        ValueError: a variable has a value that cannot be understood.

    Example:
        >>> from_environment({"TILEC_CACHE_LIMIT": "512M"}).cache_limit_bytes
        536870912
    """
    default = Settings()

    def read(variable: str, parse: Callable[[str, str], _T], otherwise: _T) -> _T:
        text = environment.get(variable, "")
        return parse(variable, text) if text else otherwise

    return Settings(
        cache=read("TILEC_CACHE", _choice("on", "off"), default.cache),
        cache_dir=read("TILEC_CACHE_DIR", _path, default.cache_dir),
        cache_limit_bytes=read("TILEC_CACHE_LIMIT", _size_bytes, default.cache_limit_bytes),
        dump_dir=read("TILEC_DUMP", _path, default.dump_dir),
        assembler=read(
            "TILEC_ASSEMBLER",
            _choice("auto", "nvjitlink", "ptxas", "driver"),
            default.assembler,
        ),
        compile_timeout_s=read("TILEC_COMPILE_TIMEOUT", _seconds, default.compile_timeout_s),
        containment=read(
            "TILEC_CONTAINMENT", _choice("auto", "worker", "process"), default.containment
        ),
        sanitize=read("TILEC_SANITIZE", _choice("0", "1"), "0") == "1",
    )


@functools.cache
def current() -> Settings:
    """Return the settings of this process, read from its environment at the first call."""
    return from_environment(os.environ)


def _choice(*allowed: str) -> Callable[[str, str], str]:
    def parse(variable: str, text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{variable} must be one of {', '.join(allowed)}, found {text!r}")
        return text

    return parse


def _path(variable: str, text: str) -> Path | None:
    path = Path(text).expanduser()
    if not path.is_absolute():
        path = Path.cwd() / path
    return path


def _size_bytes(variable: str, text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if match is None:
        raise ValueError(f"{variable} must be a size such as 512M or 2G, found {text!r}")
    return int(match[1]) * _UNITS[match[2]]


def _seconds(variable: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{variable} must be a positive number of seconds, found {text!r}")
    return seconds
