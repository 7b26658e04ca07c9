"""The disk cache: from a kernel's source, or else from its IR, to a finished entry.

Two keys lead to an entry::

    source key   code of the kernel, specialization, target, options, build of tilec
                 -> a list of manifests; one whose recorded dependencies still hold names the entry
    IR key       the canonical `tile` module without locations, target, options, build
                 -> the entry

A hit by source key neither traces nor loads MLIR. A hit by IR key traces, but does not compile:
equal kernels share an entry, whatever file and line they came from.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol, cast

from tilec import settings as settings_module
from tilec.compiler.build import whole_build
from tilec.jit.entry import BadFileError, Entry, pack, pack_entry, unpack, unpack_entry
from tilec.jit.store import Store, StoredFile
from tilec.settings import Settings
from tilec.trace.dependencies import Dependencies, code_digest, holds, value_text
from tilec.trace.signature import Signature

_LAYOUT = "v1"
"""Directory of this layout of the cache; an incompatible one gets another name."""

_MANIFESTS = 32
"""Manifests kept for a source key: as many variants by captured values."""

_LOCK_TIMEOUT_S = 60.0
"""How long to wait for another process that compiles the same entry."""


class TracedKernel(Protocol):
    """What tracing gives, as far as the cache looks."""

    @property
    def dependencies(self) -> Dependencies:
        """What the trace read beyond the kernel's own code."""
        ...


class Builder(Protocol):
    """The work that a hit spares."""

    def trace(self) -> Any:
        """Trace the kernel; the result has ``dependencies``."""
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
    options: object = None


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
        slot = source_key(request)
        entry = self._by_source(slot, request)
        if entry is not None:
            return self._found(entry, "source", start)
        traced = builder.trace()
        key = builder.ir_key(traced)
        entry, origin = self._entry(key), "ir"
        if entry is None:
            entry, origin = self._compile_once(key, builder, traced)
        not_stored = self._remember(slot, traced.dependencies, key)
        return self._found(entry, origin, start, not_stored)

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

    def _by_source(self, slot: str | None, request: Request) -> Entry | None:
        for manifest in self._manifests(slot):
            if holds(manifest["dependencies"], request.function, request.signature):
                entry = self._entry(manifest["entry"])
                if entry is not None:
                    return entry
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

    def _manifests(self, slot: str | None) -> list[dict[str, Any]]:
        data = self._store.read(f"{slot}.source") if self._store and slot else None
        if data is None or slot is None:
            return []
        try:
            return _unpack_manifests(slot, data)
        except BadFileError as error:
            self._discard(f"{slot}.source", error)
            return []

    def _remember(self, slot: str | None, dependencies: Dependencies, key: str) -> str | None:
        """Add a manifest that leads to an entry; return why that could not be done, or None."""
        if slot is None:
            return "an argument or option has no text by value"
        if dependencies.reason is not None:
            return dependencies.reason
        if self._store is None:
            return "the cache is off"
        manifest = {"entry": key, "dependencies": dependencies.to_json()}
        with self._store.lock(slot, _LOCK_TIMEOUT_S):
            others = [old for old in self._manifests(slot) if old != manifest]
            manifests = json.dumps([manifest, *others][:_MANIFESTS]).encode()
            self._store.write(f"{slot}.source", pack(slot, {"manifests": manifests}))
        return None

    def _discard(self, name: str, error: BadFileError) -> None:
        if self._store is not None:
            self._store.report(f"{name} is damaged: {error}")
            self._store.remove(name)


def source_key(request: Request) -> str | None:
    """Return the key of what is known before tracing, or None when it has no text by value."""
    parts = [value_text(part) for part in (request.signature, request.options)]
    if None in parts:
        return None
    code = code_digest(request.function.__code__)
    text = "\n".join([whole_build(), request.target, request.name, code, *map(str, parts)])
    return hashlib.sha256(text.encode()).hexdigest()


def default_directory() -> Path:
    """Return the user's cache directory, as the platform has it."""
    from platformdirs import user_cache_path

    return user_cache_path("tilec", appauthor=False)


def _unpack_manifests(slot: str, data: bytes) -> list[dict[str, Any]]:
    try:
        manifests = json.loads(unpack(slot, data)["manifests"])
    except (KeyError, ValueError) as error:
        raise BadFileError(f"not a list of manifests: {error!r}") from None
    return cast("list[dict[str, Any]]", manifests)


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
