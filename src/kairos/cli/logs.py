"""What the long-running commands say while they run: readable lines or JSON lines, on standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from enum import StrEnum
from typing import Annotated, Any, TextIO

import structlog
import typer
from structlog.typing import ExcInfo, Processor

from kairos.cli.tables import harmless


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


LogFormat = Annotated[
    Format, typer.Option("--log-format", help="Lines for people, or JSON lines for programs.")
]

_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
)


def configure(form: Format) -> None:
    """Send what Kairos logs, and what the app logs with `logging`, to one place in one form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(form)],
        )
    )
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


def _rendering(form: Format) -> tuple[Processor, ...]:
    # Never the locals of a frame: they hold the arguments of jobs.
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
    """What a job logs must not move the cursor of whoever reads it."""
    for name, value in event.items():
        if isinstance(value, str) and not value.isprintable():
            event[name] = harmless(value, lines=True)
    return event


def _traceback(out: TextIO, error: ExcInfo) -> None:
    plain = structlog.processors.format_exc_info(None, "", {"exc_info": error})
    out.write("\n" + harmless(str(plain["exception"]), lines=True))
