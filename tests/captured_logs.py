"""What Kairos logged during a block, line by line in parts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kairos.logger import EVENT, FIELDS


class _Keep(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        fields = getattr(record, FIELDS, {})
        self.lines.append(
            {
                **fields,
                "event": getattr(record, EVENT, record.getMessage()),
                "log_level": record.levelname.lower(),
            }
        )


@contextmanager
def capture_logs() -> Iterator[list[dict[str, Any]]]:
    """Collect every line of the loggers `kairos.…`, also those below the level of the program."""
    logger = logging.getLogger("kairos")
    handler, level = _Keep(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield handler.lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
