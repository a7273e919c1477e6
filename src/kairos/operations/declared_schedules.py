"""Schedules declared in code, and how the database follows the code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kairos.errors import BadRequest
from kairos.logger import Logger
from kairos.machine.call import Call
from kairos.operations.schedule_options import ScheduleOptions
from kairos.operations.schedules import NONE, save
from kairos.store.array_literals import texts
from kairos.store.query import Operation, Query
from kairos.store.schedule_rows import Calendars

log = Logger("kairos")

# The same text as in pause_undeclared_schedules.sql and claim_declared_schedules.sql.
ORPHANED = "no longer declared in code"


@dataclass(frozen=True, slots=True)
class Declared:
    """A schedule declared in code."""

    name: str
    intent: str
    call: Callable[[], Call]
    options: ScheduleOptions = field(default_factory=ScheduleOptions)


def synchronise(
    app: str | None,
    declared: Sequence[Declared],
    actions: Sequence[str] = (),
    calendars: Calendars = NONE,
    worker: str | None = None,
) -> Operation[list[str]]:
    """Store the declared schedules; return the names of those that are paused because the code no longer declares them.

    `app` is `Settings.name`, and `worker` the worker that declares these schedules, if one does. A schedule is paused
    only if no live worker declares it, so that old and new code can run side by side during a deploy.

    A program without a name, or without any schedule, may be a part of a larger app, or another app. So it pauses only
    schedules of its own `actions`, and those of a program that counts as a former version of it, because they share at
    least half of the actions.
    """
    stored = []
    for each in declared:
        try:
            yield from save(
                each.name, each.intent, each.call(), each.options, declared_by=app, calendars=calendars
            )
            stored.append(each.name)
        except BadRequest as refusal:
            # The text was valid when it was declared, so it lies in the past now. The worker starts all the same.
            log.error(
                "a declared schedule was not stored",
                schedule=each.name,
                when=each.intent,
                error=refusal.message,
            )
            yield from _pause_refused(each.name)
    if stored:
        yield Query("claim_declared_schedules", (app, texts(stored), texts(actions)))
    if worker is not None:
        yield Query("save_declarations", (worker, app, texts([each.name for each in declared])))
    whole_app = app is not None and bool(declared)
    if not (whole_app or actions):
        return []
    orphans = yield Query(
        "pause_undeclared_schedules",
        (app, texts([each.name for each in declared]), None if whole_app else texts(actions)),
    )
    return [row["name"] for row in orphans]


def _pause_refused(name: str) -> Operation[None]:
    """Pause the stored schedule of a refused declaration: the code no longer contains its text."""
    for row in (yield Query("read_schedule", (name,))):
        if row["paused_at"] is None and row["next_tick_at"] is not None:
            yield Query("pause_schedule", (name, True, ORPHANED))
