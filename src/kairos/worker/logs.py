"""What a worker says. A log that cannot be written, or shows too much, must not become the worker's own trouble."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog

from kairos import codec
from kairos.machine.log import printing

_LONGEST_TRACE = 16_000


class Log:
    """A structured log that never raises: a full disk, a closed pipe or a text that no terminal can show
    costs the line and not the step, the lane or the loop that spoke. Nor is it ever what a step printed.
    """

    def __init__(self, name: str) -> None:
        self._log = structlog.get_logger(name)

    def __getattr__(self, level: str) -> Callable[..., None]:
        def say(event: str, *, exc_info: BaseException | None = None, **values: Any) -> None:
            token = printing.set(None)
            try:
                with suppress(Exception):
                    if exc_info is not None:
                        # As text made here: a renderer may take minutes over a message of a megabyte.
                        values["stack"] = codec.printable(
                            "".join(traceback.format_exception(exc_info)), _LONGEST_TRACE
                        )
                    getattr(self._log, level)(event, **values)
            finally:
                printing.reset(token)

        return say


def hide_locals() -> None:
    """Show errors without the locals of their frames, as structlog does by default: they hold jobs' arguments."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.dev.ConsoleRenderer(
                colors=sys.stdout.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
            if isinstance(each, structlog.dev.ConsoleRenderer)
            else each
            for each in structlog.get_config()["processors"]
        ]
    )
