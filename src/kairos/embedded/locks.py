"""A file lock that the kernel releases when its process ends, even by kill -9."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kairos.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class FileLock:
    """Use `exclusive` for a critical section; `share`, `try_exclusive` and `release` find out who is the last user."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    @property
    def held(self) -> bool:
        return self._file is not None

    @contextmanager
    def exclusive(self, seconds: float) -> Iterator[int]:
        """Hold it exclusively, waiting up to `seconds` for another process; yield the open file."""
        file = self._open()
        try:
            deadline = time.monotonic() + seconds
            while not _try(file, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise DatabaseUnavailable(
                        f"Another process has held {self._path} for {seconds:.0f} s: end it if it is stuck."
                    )
                time.sleep(0.02)
            yield file
        finally:
            os.close(file)

    def share(self) -> bool:
        """Hold it shared; return False if this object held it already."""
        if self._file is not None:
            return False
        file = self._open()
        fcntl.flock(file, fcntl.LOCK_SH)
        self._file = file
        return True

    def try_exclusive(self) -> bool:
        """Turn the shared lock into an exclusive one; return False if another process shares it."""
        return self._file is not None and _try(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
