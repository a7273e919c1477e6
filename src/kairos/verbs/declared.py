"""Schedules written in code, and how the database is brought to what the code says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from kairos.errors import BadRequest
from kairos.machine.call import Call
from kairos.store.columns import texts
from kairos.store.query import Query, Verb
from kairos.store.schedules import Calendars
from kairos.verbs.schedule_options import ScheduleOptions
from kairos.verbs.schedules import NONE, save

log = structlog.get_logger("kairos")

# As orphan_schedules and adopt_schedules have it: declaring it again lets it go on.
ORPHANED = "no longer declared in code"


@dataclass(frozen=True, slots=True)
class Declared:
    """A schedule written in code."""

    name: str
    intent: str
    call: Callable[[], Call]
    options: ScheduleOptions = field(default_factory=ScheduleOptions)


def synchronise(
    app: str | None, declared: Sequence[Declared], actions: Sequence[str] = (), calendars: Calendars = NONE
) -> Verb[list[str]]:
    """Bring the database to what the code declares; answers what is paused because it no longer does.

    Only an app with a name knows which of them were its own: see `Settings.name`. A program of that name that
    declares none at all speaks only for those that run one of its `actions`: it may be a small part of the app.
    """
    stored = []
    for each in declared:
        try:
            yield from save(
                each.name, each.intent, each.call(), each.options, declared_by=app, calendars=calendars
            )
            stored.append(each.name)
        except BadRequest as refusal:
            # It was understood when it was declared: what is refused now lies in the past, and jobs must go on.
            log.error(
                "a declared schedule was not stored",
                schedule=each.name,
                when=each.intent,
                error=refusal.message,
            )
            yield from _retire(each.name)
    if stored:
        yield Query("adopt_schedules", (app, texts(stored)))
    if app is None:
        return []
    if not (declared or actions):
        return []
    orphans = yield Query(
        "orphan_schedules",
        (app, texts([each.name for each in declared]), None if declared else texts(actions)),
    )
    return [row["name"] for row in orphans]


def _retire(name: str) -> Verb[None]:
    """Stop what is stored under a name whose declaration was refused: those words are no longer in the code."""
    for row in (yield Query("read_schedule", (name,))):
        if row["paused_at"] is None and row["next_tick_at"] is not None:
            yield Query("pause_schedule", (name, True, ORPHANED))
