"""An advisory lock on a name, between processes and threads, with a timeout.

All names share one file: a name locks one byte of it, by open-file-description locks. So there is
no lock file per kernel to clean up, a dead process holds nothing, and threads exclude each other.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import struct
import time

_FLOCK = struct.Struct("hhqqi4x")
"""``struct flock`` of 64-bit Linux: type, whence, start, length, pid."""

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.001, 0.05
_BUSY = (errno.EAGAIN, errno.EACCES)


class FileLock:
    """Takes over an open file descriptor and locks names in it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._byte: int | None = None

    def acquire(self, name: str, timeout_s: float) -> bool:
        """Lock a name; tell whether that succeeded in time.

        Raises:
            OSError: the file system has no such locks.
        """
        byte = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "little")
        until = time.monotonic() + timeout_s
        wait_s = _FIRST_WAIT_S
        while not self._try(fcntl.F_WRLCK, byte):
            if time.monotonic() >= until:
                return False
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
        self._byte = byte
        return True

    def close(self) -> None:
        """Unlock and close.

        Closing alone would not unlock while a forked child still has the descriptor.
        """
        with contextlib.suppress(OSError):
            if self._byte is not None:
                self._try(fcntl.F_UNLCK, self._byte)
        with contextlib.suppress(OSError):
            os.close(self._descriptor)

    def _try(self, kind: int, byte: int) -> bool:
        command = getattr(fcntl, "F_OFD_SETLK", None)
        if command is None:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
        try:
            fcntl.fcntl(self._descriptor, command, _FLOCK.pack(kind, os.SEEK_SET, byte, 1, 0))
        except OSError as error:
            if kind == fcntl.F_WRLCK and error.errno in _BUSY:
                return False
            raise
        return True
