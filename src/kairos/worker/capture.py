"""What a step prints, line by line into its job's log. Only its own: what others print goes where it always went."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kairos.machine.log import LONGEST_LINE, cut, printing

STREAMS = ("stdout", "stderr")


class Printed:
    """Makes lines of what one step prints; once closed, the step is over and no longer heard."""

    def __init__(self, keep: Callable[[str, str], None]) -> None:
        self._keep = keep
        self._rest = dict.fromkeys(STREAMS, "")
        self._lock = threading.Lock()
        self.closed = False

    def write(self, stream: str, text: str) -> None:
        with self._lock:
            *lines, rest = (self._rest[stream] + text).split("\n")
            if len(rest) > LONGEST_LINE:
                lines, rest = [*lines, rest], ""
            self._rest[stream] = rest
        for line in lines:
            self._keep(stream, cut(line.removesuffix("\r")))

    def close(self) -> None:
        self.closed = True
        for stream in STREAMS:
            if self._rest[stream]:
                self.write(stream, "\n")


class _Heard(io.TextIOBase):
    """Stands for `sys.stdout` or `sys.stderr`, and asks at each write whose it is."""

    def __init__(self, name: str, real: Any) -> None:
        self._name = name
        self.real = real

    def write(self, text: str) -> int:
        printed = printing.get()
        if printed is None or printed.closed:
            return 0 if self.real is None else int(self.real.write(text) or 0)
        printed.write(self._name, text)
        return len(text)

    def flush(self) -> None:
        if printing.get() is None and self.real is not None:
            self.real.flush()

    def isatty(self) -> bool:
        return printing.get() is None and bool(self.real.isatty())

    def fileno(self) -> int:
        return int(self.real.fileno())

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self.real, "encoding", None) or "utf-8"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@contextmanager
def captured(keep: Callable[[str, str], None]) -> Iterator[None]:
    """Keep what is printed from here, by this task, this thread and the tasks they start."""
    for name in STREAMS:
        if not isinstance(getattr(sys, name), _Heard):
            setattr(sys, name, _Heard(name, getattr(sys, name)))
    printed = Printed(keep)
    token = printing.set(printed)
    try:
        yield
    finally:
        printing.reset(token)
        printed.close()
