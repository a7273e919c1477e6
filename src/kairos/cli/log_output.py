"""Logging of long-running commands: readable lines or JSON lines on standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from enum import StrEnum
from typing import Annotated, Any, TextIO

import structlog
import typer
from structlog.typing import ExcInfo, Processor

from kairos.cli.output import escape_control
from kairos.logger import EVENT, FIELDS


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


class Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


LogLevel = Annotated[
    Level,
    typer.Option("--log-level", help="The least important lines to print; debug has one for every job."),
]
LogFormat = Annotated[
    Format, typer.Option("--log-format", help="Lines for people, or JSON lines for programs.")
]

# The fields that have several lines, and those that structlog handles itself.
_STACKS = frozenset({"stack", "exception"})
_OBJECTS = frozenset({"exc_info", "stack_info", "_record", "_from_structlog"})
_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
)


def configure(form: Format, level: Level = Level.INFO) -> None:
    """Send the logs of Kairos and of the app's `logging` and structlog to standard error in one format."""
    number = logging.getLevelName(level.upper())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=(_in_parts, *_SHARED),
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *processors_of(form)],
        )
    )
    if form is Format.TEXT:
        handler.addFilter(_is_not_printed)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(number)
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


def _is_not_printed(record: logging.LogRecord) -> bool:
    """Whether no handler of the app's own prints this line to the terminal, as Django's does while DEBUG is set."""
    logger: logging.Logger | None = logging.getLogger(record.name)
    while logger is not None and logger.parent is not None and logger.propagate:
        if any(_prints(handler, record) for handler in logger.handlers):
            return False
        logger = logger.parent
    return True


def _prints(handler: logging.Handler, record: logging.LogRecord) -> bool:
    if not isinstance(handler, logging.StreamHandler) or handler.stream not in (sys.stdout, sys.stderr):
        return False
    return record.levelno >= handler.level and bool(handler.filter(record))


def log_successes() -> None:
    """Print a line for every job that succeeds, at any level: in development they are few."""
    logging.getLogger("kairos.jobs").setLevel(logging.DEBUG)


def _in_parts(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Take the fields of Kairos' own records apart again."""
    record = event["_record"]
    if hasattr(record, FIELDS):
        event.update(getattr(record, FIELDS))
        event["event"] = getattr(record, EVENT)
    return event


def processors_of(form: Format) -> tuple[Processor, ...]:
    """Return the structlog processors that render a line in this format."""
    # Never show local variables: they hold the arguments of jobs.
    if form is Format.JSON:
        return (
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        )
    return (
        structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%SZ", utc=True),
        _spell_out,
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_traceback),
    )


def _spell_out(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters: a text must neither move the terminal's cursor nor begin a line of its own.

    A stack keeps its lines, each of them indented, so that none looks like a line of the log.
    """
    for name, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[name] = _indented(value) if name in _STACKS else escape_control(value)
        elif not isinstance(value, str | int | float | bool | None) and name not in _OBJECTS:
            event[name] = escape_control(repr(value))
    return event


def _traceback(out: TextIO, error: ExcInfo) -> None:
    plain = structlog.processors.format_exc_info(None, "", {"exc_info": error})
    out.write("\n" + _indented(str(plain["exception"])))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in escape_control(text, lines=True).splitlines())
