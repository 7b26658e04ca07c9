"""The disk cache: from a kernel's source, or else from its IR, to a finished entry.

Two keys lead to an entry::

    source key   code of the kernel and all it captures, specialization, target, options,
                 build of tilec                                             -> an IR key
    IR key       the canonical `tile` module without locations, target, options, build
                                                                            -> the entry

A hit by source key neither traces nor loads MLIR. A hit by IR key traces, but does not compile:
equal kernels share an entry, whatever file and line they came from. What a plan of tiles needs to
know of a kernel is kept as well, under a source key of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol, cast

from tilec import settings as settings_module
from tilec.compiler.build import whole_build
from tilec.jit.entry import BadFileError, Entry, pack, pack_entry, unpack, unpack_entry
from tilec.jit.store import Store, StoredFile
from tilec.settings import Settings
from tilec.trace.captures import captures, value_digest
from tilec.trace.options import KernelOptions
from tilec.trace.signature import Signature

_LAYOUT = "v1"
"""Directory of this layout of the cache; an incompatible one gets another name."""

_LOCK_TIMEOUT_S = 60.0
"""How long to wait for another process that compiles the same entry."""


class Builder(Protocol):
    """The work that a hit spares."""

    def trace(self) -> Any:
        """Trace the kernel."""
        ...

    def ir_key(self, traced: Any) -> str:
        """Return the IR key of a traced kernel."""
        ...

    def compile(self, traced: Any) -> Entry:
        """Compile a traced kernel."""
        ...


@dataclass(frozen=True)
class Request:
    """A kernel and everything that is known of the launch before tracing."""

    function: FunctionType
    name: str
    signature: Signature
    target: str
    options: KernelOptions = field(default_factory=KernelOptions)
    plan: str | None = None
    """The decisions of a tile plan, as JSON text."""


@dataclass(frozen=True)
class Found:
    """An entry and how it was come by.

    Attributes:
        entry: what to launch.
        origin: ``"source"`` (not traced), ``"ir"`` (traced, not compiled) or ``"compiled"``.
        seconds: how long it took.
        not_stored: why the next process will have to trace again, or None.
    """

    entry: Entry
    origin: str
    seconds: float
    not_stored: str | None = None


@dataclass
class Statistics:
    """What this process got out of the cache.

    Attributes:
        origins: count of requests by ``Found.origin``.
        problem: the first thing that went wrong with the directory, or None.
    """

    origins: dict[str, int] = field(default_factory=lambda: {"source": 0, "ir": 0, "compiled": 0})
    problem: str | None = None


@dataclass(frozen=True)
class CachedKernel:
    """One entry of the directory, for listings."""

    key: str
    symbol: str
    target: str
    assembler: str
    size_bytes: int
    used_at: float


class DiskCache:
    """The cache in one directory; a directory of None is a cache that never hits."""

    def __init__(self, directory: Path | None, limit_bytes: int) -> None:
        self._store = Store(directory / _LAYOUT, limit_bytes) if directory else None
        self._origins = Statistics().origins

    @classmethod
    def from_settings(cls, settings: Settings | None = None) -> DiskCache:
        """Return the cache the environment asks for."""
        settings = settings or settings_module.current()
        if settings.cache == "off" or settings.dump_dir:  # a dump is of a compilation
            return cls(None, 0)
        return cls(settings.cache_dir or default_directory(), settings.cache_limit_bytes)

    @property
    def directory(self) -> Path | None:
        """Where the files are; None when the cache is off."""
        return self._store.directory if self._store else None

    def obtain(self, request: Request, builder: Builder) -> Found:
        """Return the entry of a request: found, or else made by the builder and kept.

        A cache that does not work is never the caller's problem: only what the builder raises
        leaves this method.
        """
        start = time.perf_counter()
        source, not_stored = source_key(request)
        entry = self._by_source(source)
        if entry is not None:
            return self._found(entry, "source", start)
        traced = builder.trace()
        key = builder.ir_key(traced)
        entry, origin = self._entry(key), "ir"
        if entry is None:
            entry, origin = self._compile_once(key, builder, traced)
        self._remember(source, key)
        return self._found(entry, origin, start, not_stored)

    def summary(self, request: Request, summarize: Callable[[], str]) -> str:
        """Return what was kept of a kernel for plans, or else made now and kept.

        Args:
            request: the kernel; its tile and target are only what it was traced with.
            summarize: makes the summary; only what it raises leaves this method.
        """
        source, _ = source_key(request)
        name = f"{source}.summary"
        data = self._store.read(name) if self._store and source else None
        if data is not None and source is not None:
            try:
                return unpack(source, data)["summary"].decode()
            except (BadFileError, KeyError, ValueError) as error:
                self._discard(name, error)
        text = summarize()
        if self._store and source:
            self._store.write(name, pack(source, {"summary": text.encode()}))
        return text

    def winner(self, request: Request, what: str) -> str | None:
        """Return what tuning found for a kernel, or None.

        Args:
            request: the kernel; of a tile that tuning chooses, only that it does.
            what: text that tells apart what was tuned for: device, shapes, candidates.
        """
        key = _winner_key(request, what)
        data = self._store.read(f"{key}.tuned") if self._store and key else None
        if data is None or key is None:
            return None
        try:
            return unpack(key, data)["winner"].decode()
        except (BadFileError, KeyError, ValueError) as error:
            self._discard(f"{key}.tuned", error)
            return None

    def keep_winner(self, request: Request, what: str, text: str) -> None:
        """Keep what tuning found, where there is a cache and the kernel has a key."""
        key = _winner_key(request, what)
        if self._store and key:
            self._store.write(f"{key}.tuned", pack(key, {"winner": text.encode()}))

    def statistics(self) -> Statistics:
        """Return what this process got out of the cache so far."""
        problem = self._store.problem if self._store else None
        return Statistics(dict(self._origins), problem)

    def listing(self) -> Iterator[CachedKernel]:
        """Return the entries of the directory, the one used last first."""
        if self._store is None:
            return
        for file in self._store.files():
            key, dot, kind = file.name.partition(".")
            if dot and kind == "entry":
                entry = self._entry(key)
                if entry is not None:
                    yield _describe(key, entry, file)

    def size_bytes(self) -> int:
        """Return the bytes of all files in the directory."""
        return sum(file.size_bytes for file in self._store.files()) if self._store else 0

    def probe(self) -> str | None:
        """Return why the directory cannot be used, or None."""
        return self._store.probe() if self._store else None

    def clear(self) -> int:
        """Remove every file; return how many entries went."""
        if self._store is None:
            return 0
        gone = [file.name for file in self._store.files() if self._store.remove(file.name)]
        return sum(name.endswith(".entry") for name in gone)

    def _found(
        self, entry: Entry, origin: str, start: float, not_stored: str | None = None
    ) -> Found:
        self._origins[origin] += 1
        return Found(entry, origin, time.perf_counter() - start, not_stored)

    def _by_source(self, source: str | None) -> Entry | None:
        data = self._store.read(f"{source}.source") if self._store and source else None
        if data is None or source is None:
            return None
        try:
            return self._entry(unpack(source, data)["entry"].decode())
        except (BadFileError, KeyError, ValueError) as error:
            self._discard(f"{source}.source", error)
            return None

    def _compile_once(self, key: str, builder: Builder, traced: Any) -> tuple[Entry, str]:
        """Compile unless another process does so at this moment: then wait for its entry."""
        if self._store is None:
            return builder.compile(traced), "compiled"
        with self._store.lock(key, _LOCK_TIMEOUT_S):
            entry = self._entry(key)
            if entry is not None:
                return entry, "ir"
            entry = builder.compile(traced)
            self._store.write(f"{key}.entry", pack_entry(key, entry))
        return entry, "compiled"

    def _entry(self, key: str) -> Entry | None:
        data = self._store.read(f"{key}.entry") if self._store else None
        if data is None:
            return None
        try:
            return unpack_entry(key, data)
        except BadFileError as error:
            self._discard(f"{key}.entry", error)
            return None

    def _remember(self, source: str | None, key: str) -> None:
        if self._store and source:
            self._store.write(f"{source}.source", pack(source, {"entry": key.encode()}))

    def _discard(self, name: str, error: Exception) -> None:
        if self._store is not None:
            self._store.report(f"{name} is damaged: {error}")
            self._store.remove(name)


def source_key(request: Request) -> tuple[str | None, str | None]:
    """Return the key of what is known before tracing, or None and why there is none."""
    captured = captures(cast(FunctionType, request.function), request.signature)
    options = value_digest(request.options)
    if captured.digest is None:
        return None, captured.reason
    if options is None:
        return None, "the options have no content to compare"
    parts = [whole_build(), request.target, request.name, captured.digest, options]
    if request.plan:
        parts.append(request.plan)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest(), None


def _winner_key(request: Request, what: str) -> str | None:
    source, _ = source_key(request)
    return hashlib.sha256(f"{source}\n{what}".encode()).hexdigest() if source else None


def default_directory() -> Path:
    """Return the user's cache directory, as the platform has it.

    On Linux this is platformdirs' answer without its import, which takes four times as long as all
    else that a hit does.
    """
    if sys.platform == "linux":
        chosen = os.environ.get("XDG_CACHE_HOME", "").strip()
        return Path(chosen or os.path.expanduser("~/.cache"), "tilec")
    from platformdirs import user_cache_path

    return user_cache_path("tilec", appauthor=False)


def _describe(key: str, entry: Entry, file: StoredFile) -> CachedKernel:
    plan = json.loads(entry.plan)
    return CachedKernel(
        key=key,
        symbol=str(plan.get("symbol", "?")),
        target=str(plan.get("target", "?")),
        assembler=str(entry.metadata.get("assembler", "?")),
        size_bytes=file.size_bytes,
        used_at=file.used_at,
    )
