"""A directory of small files that may be full, read-only, shared, damaged or gone at any time.

Every operation may fail, and failing is answered with "not there", never with an exception: the
caller compiles instead. The first failure of a process is told once, as a ``CacheWarning``.

Files are written beside their place, synced and renamed over it, so a reader meets the old file,
the new one or none. The directory belongs to the user alone and is opened without following a
link: whoever can write to it could choose the machine code that runs.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
import uuid
import warnings
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from tilec.diagnostics import CacheWarning
from tilec.jit.filelock import FileLock

_LOCKS = "locks"
_TEMPORARY = ".tmp"
_STALE_TEMPORARY_S = 3600.0
_TOUCH_AFTER_S = 60.0
_KEEP_FRACTION = 0.9
"""Eviction goes below the limit by this much, so that it is not needed again at the next write."""

_NO_SYNC = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""A file system without fsync: the checksum still tells a torn file from a whole one."""


class UnusableError(Exception):
    """The directory cannot be used; the text says why."""


@dataclass(frozen=True)
class StoredFile:
    """Name, size and last use (seconds since the epoch) of a file."""

    name: str
    size_bytes: int
    used_at: float


class Store:
    """Files by name in one directory, with a bound on their total size."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self.directory = directory
        self.limit_bytes = limit_bytes
        self.problem: str | None = None
        """The first thing that went wrong in this process, if any did."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file and mark it as used, or None when it cannot be had."""
        for attempt in range(2):
            try:
                with self._open_directory(create=False) as root:
                    return _read_file(root, name)
            except FileNotFoundError:
                return None
            except (OSError, UnusableError) as error:
                if not (attempt == 0 and _is_stale(error)):  # a file replaced under NFS: look again
                    self.report(f"cannot read {name}: {_why(error)}")
                    return None
        return None

    def write(self, name: str, content: bytes) -> bool:
        """Put a file in place of whatever bears its name; tell whether that succeeded."""
        if len(content) > self.limit_bytes:
            return False
        try:
            with self._open_directory(create=True) as root:
                _replace_file(root, name, content)
                self._evict(root, keep=name)
        except (OSError, UnusableError) as error:
            self.report(f"cannot write {name}: {_why(error)}")
            return False
        return True

    def remove(self, name: str) -> bool:
        """Remove a file; tell whether it is gone by this call."""
        try:
            with self._open_directory(create=False) as root:
                os.unlink(name, dir_fd=root)
        except FileNotFoundError:
            return False
        except (OSError, UnusableError) as error:
            self.report(f"cannot remove {name}: {_why(error)}")
            return False
        return True

    def files(self) -> list[StoredFile]:
        """Return every file, the one used last first."""
        try:
            with self._open_directory(create=False) as root:
                found = list(_scan(root))
        except FileNotFoundError:
            return []
        except (OSError, UnusableError) as error:
            self.report(f"cannot list {self.directory}: {_why(error)}")
            return []
        return sorted(found, key=lambda file: -file.used_at)

    @contextlib.contextmanager
    def lock(self, name: str, timeout_s: float) -> Generator[bool]:
        """Hold the advisory lock of a name; the value tells whether it is held.

        It is not after the timeout, or where locks do not work. Then the caller goes on without:
        the work is done twice, and both results are right.
        """
        lock = None
        try:
            with self._open_directory(create=True) as root:
                lock = FileLock(os.open(_LOCKS, os.O_RDWR | os.O_CREAT | _SAFE, 0o600, dir_fd=root))
            held = lock.acquire(name, timeout_s)
        except (OSError, UnusableError) as error:
            self.report(f"cannot lock {name}: {_why(error)}")
            held = False
        try:
            yield held
        finally:
            if lock is not None:
                lock.close()

    def probe(self) -> str | None:
        """Return why files cannot be kept here, or None; writes one and removes it."""
        name = f"probe{_TEMPORARY}"
        try:
            with self._open_directory(create=True) as root:
                _replace_file(root, name, b"")
                os.unlink(name, dir_fd=root)
        except (OSError, UnusableError) as error:
            return _why(error)
        return None

    def report(self, problem: str) -> None:
        """Warn about a problem, once for this store."""
        if self.problem is None:
            self.problem = problem
            warnings.warn(
                f"the disk cache in {self.directory} is not fully usable ({problem}); "
                "what it cannot give is compiled again",
                CacheWarning,
                stacklevel=2,
            )

    @contextlib.contextmanager
    def _open_directory(self, *, create: bool) -> Generator[int]:
        """Open the directory for one operation, so that a vanished one is simply made again."""
        if not self.directory.is_absolute():
            raise UnusableError("no home directory is known")
        if create:
            self.directory.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.directory, 0o700)
        root = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | _SAFE)
        try:
            _check_private(os.fstat(root))
            yield root
        finally:
            os.close(root)

    def _evict(self, root: int, keep: str) -> None:
        """Remove abandoned temporary files, then what was used least recently beyond the limit."""
        files = sorted(_scan(root, temporary=True), key=lambda file: file.used_at)
        now = time.time()
        total = sum(file.size_bytes for file in files)
        over = total > self.limit_bytes
        for file in files:
            abandoned = _is_temporary(file.name) and now - file.used_at > _STALE_TEMPORARY_S
            excess = over and total > self.limit_bytes * _KEEP_FRACTION
            if file.name != keep and (abandoned or (excess and not _is_temporary(file.name))):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(file.name, dir_fd=root)
                total -= file.size_bytes


_SAFE = os.O_NOFOLLOW | os.O_CLOEXEC


def _check_private(status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise UnusableError(f"it belongs to user {status.st_uid}, expected {os.geteuid()}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(status.st_mode)
        raise UnusableError(f"others can write to it (mode {mode:04o}, expected 0700)")


def _read_file(root: int, name: str) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _SAFE, dir_fd=root)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise UnusableError("not a regular file of this user")
        content = file.read()
        if time.time() - status.st_mtime > _TOUCH_AFTER_S:
            with contextlib.suppress(OSError):  # recency is worth no failure
                os.utime(descriptor)
    return content


def _replace_file(root: int, name: str, content: bytes) -> None:
    temporary = f"{name}.{uuid.uuid4().hex}{_TEMPORARY}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE
    try:
        with open(os.open(temporary, flags, 0o600, dir_fd=root), "wb") as file:
            file.write(content)
            file.flush()
            _sync(file.fileno())
        os.replace(temporary, name, src_dir_fd=root, dst_dir_fd=root)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=root)
        raise


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def _scan(root: int, *, temporary: bool = False) -> Iterator[StoredFile]:
    with os.scandir(root) as items:
        for item in items:
            if item.name == _LOCKS or (_is_temporary(item.name) and not temporary):
                continue
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                status = item.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield StoredFile(item.name, status.st_size, status.st_mtime)


def _is_temporary(name: str) -> bool:
    return name.endswith(_TEMPORARY)


def _is_stale(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.ESTALE


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
