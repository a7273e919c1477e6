"""Capture what a step prints into its job's log; other output of the process is not captured."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kairos.logger import captured_output
from kairos.machine.step_log import LONGEST_LINE, cut

STREAMS = ("stdout", "stderr")


class StepOutput:
    """Split the output of one step into lines; after `close`, output is no longer captured."""

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


class _CapturingStream(io.TextIOBase):
    """Replace `sys.stdout` or `sys.stderr`, and at each write find the step that prints, if any."""

    def __init__(self, name: str, real: Any) -> None:
        self._name = name
        self.real = real

    def write(self, text: str) -> int:
        output = captured_output.get()
        if output is None or output.closed:
            return 0 if self.real is None else int(self.real.write(text) or 0)
        output.write(self._name, text)
        return len(text)

    def flush(self) -> None:
        if captured_output.get() is None and self.real is not None:
            self.real.flush()

    def isatty(self) -> bool:
        return captured_output.get() is None and bool(self.real.isatty())

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
def capture_output(keep: Callable[[str, str], None]) -> Iterator[None]:
    """Pass the lines printed in this block to `keep`, also those of tasks that it starts."""
    for name in STREAMS:
        if not isinstance(getattr(sys, name), _CapturingStream):
            setattr(sys, name, _CapturingStream(name, getattr(sys, name)))
    output = StepOutput(keep)
    token = captured_output.set(output)
    try:
        yield
    finally:
        captured_output.reset(token)
        output.close()
