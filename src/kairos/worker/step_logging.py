"""Store what a step logs through `logging` in its job's log."""

from __future__ import annotations

import logging
import threading
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from kairos.machine.context import Context, write_log
from kairos.machine.step_log import as_json, cut, trace_of

_NAMES = ((50, "critical"), (40, "error"), (30, "warning"), (20, "info"))
_installing = threading.Lock()


class _Step:
    """The running step; when it is over, records of tasks and threads that it left behind are ignored."""

    __slots__ = ("_token", "ctx", "over")

    def __init__(self, ctx: Context[Any]) -> None:
        self.ctx = ctx
        self.over = False

    def __enter__(self) -> None:
        self._token = _running.set(self)

    def __exit__(self, *error: object) -> None:
        self.over = True
        _running.reset(self._token)


_running: ContextVar[_Step | None] = ContextVar("kairos_logging_step", default=None)


def capture_logging(ctx: Context[Any]) -> AbstractContextManager[None]:
    """Store what is logged in this block in the job's log, also by tasks that it starts."""
    return _Step(ctx)


def install() -> None:
    """Install the record factory that stores the records of steps, once in this process.

    It is not a handler, because a handler on the root logger would disable `logging.lastResort` and make a later
    `logging.basicConfig()` do nothing. Records below the program's own levels are not stored.
    """
    with _installing:
        present = logging.getLogRecordFactory()
        if getattr(present, "kairos", False):
            return

        def make(*args: Any, **kwargs: Any) -> logging.LogRecord:
            record = present(*args, **kwargs)
            step = _running.get()
            if step is not None and not step.over:
                _keep(step.ctx, record)
            return record

        make.kairos = True  # type: ignore[attr-defined]
        logging.setLogRecordFactory(make)


def _keep(ctx: Context[Any], record: logging.LogRecord) -> None:
    name = record.name or ""
    if not name or name == "kairos" or name.startswith("kairos."):
        return  # ctx.log stores its own lines; other lines of Kairos are not the job's
    level = next((word for least, word in _NAMES if record.levelno >= least), "debug")
    fields: dict[str, Any] = {"logger": name}
    if record.exc_info and (stack := trace_of(record.exc_info)) is not None:
        fields["stack"] = stack
    try:
        line = record.getMessage()
    except Exception:  # noqa: BLE001 (a wrong format is reported by `logging` itself)
        line = str(record.msg)
    write_log(ctx, level, cut(line), as_json(fields))
