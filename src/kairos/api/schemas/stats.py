"""The schemas of `/api/stats` and its series."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import create_model

from kairos.api.schemas.base import AgedAnswer, Output, model_of, one
from kairos.fsm.lifecycle import LIVE
from kairos.operations.stats import COUNTS
from kairos.shapes.ended_job import EndedJob


class Percentiles(Output):
    """In milliseconds, to within 10 percent; null where nothing was measured."""

    p50: float | None
    p95: float | None
    p99: float | None


# A member for each count, and for each live state.
_counts: dict[str, Any] = dict.fromkeys(COUNTS, int)
_live: dict[str, Any] = dict.fromkeys(LIVE, int)
_Counted: Any = create_model("Counted", __base__=Output, **_counts)
_Named: Any = create_model("Named", __base__=Output, name=str, **_live)


class Counts(_Counted):  # type: ignore[misc]
    wait: Percentiles
    run: Percentiles


class Window(Counts):
    seconds: float
    per_second: float


class ActionCounts(Counts):
    action: str


class QueueCounts(_Named):  # type: ignore[misc]
    oldest_pending_at: datetime | None


class NextTick(Output):
    schedule: str
    at: datetime


class Stats(Output):
    """`behind`: the time of the oldest event not counted yet, or null. `atLeast`: states that may have more jobs.

    At most 500 actions, those with the most ended jobs, and 500 queues, those with the most live jobs: `actionsOmitted`
    and `queuesOmitted` are how many others there are. All are counted in `states` and `window`; `GET /api/queues` lists
    every queue.
    """

    at: datetime
    behind: datetime | None
    states: dict[str, int]
    at_least: list[str]
    window: Window
    actions: list[ActionCounts]
    actions_omitted: int
    queues: list[QueueCounts]
    queues_omitted: int
    next: list[NextTick]
    workers: int
    alarms: int


class StatsAnswer(AgedAnswer):
    stats: Stats


class Slot(Counts):
    """`failureShare` is the share of the jobs that ended which failed; null where none ended."""

    at: datetime
    failure_share: float | None


class SeriesAnswer(AgedAnswer):
    series: list[Slot]


OutcomesAnswer = one("OutcomesAnswer", base=AgedAnswer, outcomes=list[model_of(EndedJob)])  # type: ignore[misc]
