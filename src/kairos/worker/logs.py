"""What a worker's log may show where the program around it did not say."""

from __future__ import annotations

import sys

import structlog


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
