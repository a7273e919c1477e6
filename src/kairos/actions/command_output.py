"""Read what a command prints: log each line as it comes, and keep the tail for the result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kairos import json_codec

# A stream is read no faster than its lines can be written to the database.
_SMALL_READ, _PAUSE = 1 << 13, 0.005
_LARGE_READ = 1 << 16
LONGEST_LINE = 8_000
# Limits for a command that prints without end.
MOST_LOGGED = 4 << 20
TAIL = 16_000


class Output:
    """One output stream of a command. Only the current line and the tail are kept in memory."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line = write_line
        self._line = bytearray()
        self._tail = bytearray()
        self._logged = 0
        self.size = 0

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Read to the end of the stream; an overlong line is logged in parts."""
        while chunk := await stream.read(_SMALL_READ if self._is_logged else _LARGE_READ):
            self.size += len(chunk)
            self._tail += chunk
            del self._tail[:-TAIL]
            if self._is_logged:
                self._lines(chunk)
                await asyncio.sleep(_PAUSE)
        if self._line and self._is_logged:
            self._log()

    @property
    def tail(self) -> str:
        """Return the end of the output as text that can be stored."""
        return _text(bytes(self._tail))

    @property
    def is_whole(self) -> bool:
        return self.size <= TAIL

    @property
    def _is_logged(self) -> bool:
        return self._logged <= MOST_LOGGED

    def _lines(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._line += part
            self._log()
            if self._logged > MOST_LOGGED:
                return
        self._line += rest
        if len(self._line) > LONGEST_LINE:
            self._log()

    def _log(self) -> None:
        line, self._line = bytes(self._line), bytearray()
        for start in range(0, max(len(line), 1), LONGEST_LINE):
            part = line[start : start + LONGEST_LINE]
            self._logged += len(part) + 1
            self._write_line(_text(part.removesuffix(b"\r")))
            if self._logged > MOST_LOGGED:
                self._write_line(f"… more than {MOST_LOGGED >> 20} MiB: the rest is not logged")
                return


def _text(raw: bytes) -> str:
    return json_codec.printable(raw.decode("utf-8", "replace"), limit=4 * TAIL)
