"""Kairos' own log: structured lines through `logging`, under loggers called `kairos.…`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from kairos import json_codec

# The receiver of the current step's printed output, if captured; log lines are excluded from it.
captured_output: ContextVar[Any] = ContextVar("kairos_captured_output", default=None)
# Fields that every line of this task or thread gets.
_task_fields: ContextVar[Mapping[str, Any] | None] = ContextVar("kairos_log_fields", default=None)

# The attributes of a record that hold the line in parts; its message is the same as text.
EVENT, FIELDS = "kairos_event", "kairos_fields"
_LONGEST_TRACE = 16_000
# Between a worker and a step: Kairos itself, and the threads and timeouts of the standard library.
_OWN_FILES = (
    str(Path(__file__).parent) + os.sep,
    str(Path(asyncio.__file__).parent) + os.sep,
    str(Path(concurrent.futures.__file__).parent) + os.sep,
)


class Logger:
    """A structured logger that never raises: a full disk or a closed pipe costs the line, not the code that logs.

    `log.info("worker started", worker=name)` is the record "worker started worker='…'" of the standard library, with
    the event and the fields as attributes for formatters that want them apart.
    """

    __slots__ = ("_bound", "_logger")

    def __init__(self, name: str, bound: Mapping[str, Any] | None = None) -> None:
        self._logger = logging.getLogger(name)
        self._bound = dict(bound or {})

    def bind(self, **fields: Any) -> Logger:
        """Return a logger that adds these fields to every line."""
        return Logger(self._logger.name, {**self._bound, **fields})

    def try_unbind(self, *names: str) -> Logger:
        """Return a logger without these fields."""
        return Logger(
            self._logger.name, {name: value for name, value in self._bound.items() if name not in names}
        )

    def is_on(self, level: int) -> bool:
        return self._logger.isEnabledFor(level)

    def debug(self, event: str, **fields: Any) -> None:
        self._log(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._log(logging.ERROR, event, fields)

    def critical(self, event: str, **fields: Any) -> None:
        self._log(logging.CRITICAL, event, fields)

    def notice(self, event: str, **fields: Any) -> None:
        """Log at INFO, or write to standard error in a program that has set up no logging."""
        if self._logger.hasHandlers():
            self._log(logging.INFO, event, fields)
            return
        with suppress(Exception):
            sys.stderr.write(f"kairos: {as_text(event, fields)}\n")

    def _log(self, level: int, event: str, fields: dict[str, Any]) -> None:
        if not self._logger.isEnabledFor(level):
            return
        token = captured_output.set(None)
        try:
            with suppress(Exception):
                if (error := fields.pop("exc_info", None)) is not None:
                    fields["stack"] = _stack(error)
                fields = {**(_task_fields.get() or {}), **self._bound, **fields}
                extra = {EVENT: event, FIELDS: fields}
                self._logger.log(level, "%s", as_text(event, fields), extra=extra, stacklevel=3)
        finally:
            captured_output.reset(token)


@contextmanager
def with_fields(**fields: Any) -> Iterator[None]:
    """Add fields to every line that this task or thread logs."""
    token = _task_fields.set({**(_task_fields.get() or {}), **fields})
    try:
        yield
    finally:
        _task_fields.reset(token)


def as_text(event: str, fields: Mapping[str, Any]) -> str:
    """Return the line as one text: the event, its fields, and a stack below them."""
    words = [event]
    words += [
        f"{name}={value if isinstance(value, int | float) else repr(value)}"
        for name, value in fields.items()
        if name != "stack"
    ]
    text = " ".join(words)
    return f"{text}\n{fields['stack']}" if "stack" in fields else text


def _stack(error: Any) -> str:
    """Return the traceback as text made here: a renderer may take minutes over a message of a megabyte."""
    if isinstance(error, tuple):
        error = error[1]
    if not isinstance(error, BaseException):
        error = sys.exc_info()[1]
    shown = traceback_of(error) if error is not None else ""
    return json_codec.printable(shown, _LONGEST_TRACE)


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an error without the frames through which Kairos called the user's code."""
    first = error.__traceback__
    while first is not None and first.tb_frame.f_code.co_filename.startswith(_OWN_FILES):
        first = first.tb_next
    if first is None:  # Kairos' own error, or one without any frame
        first = error.__traceback__
    return "".join(traceback.format_exception(type(error), error, first)).rstrip()
