"""A queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, TypedDict

from kairos.durations import Duration
from kairos.shapes.shape import Hidden, Shown, shape


@shape("Rate")
@dataclass(frozen=True, slots=True)
class Rate:
    """At most `limit` starts in `seconds`."""

    limit: int
    seconds: timedelta


class Limits(TypedDict, total=False):
    """The limits of a queue over all workers, in the order of their parameters of `save_queue.sql`.

    A rate is a count and a period: `(100, "1m")` lets a hundred jobs start a minute. The `key_` limits apply to each
    partition key.
    """

    concurrency: int | None
    rate: tuple[int, Duration] | None
    key_concurrency: int | None
    key_rate: tuple[int, Duration] | None


LIMITS = tuple(Limits.__annotations__)
LARGEST_LIMIT = 32767  # of those that are no rate


@shape("Queue", parts={"rate": Rate, "keyRate": Rate})
@dataclass(frozen=True, slots=True)
class Queue:
    """A queue's settings and its live jobs, by state; `atLeast` names the states that may have more than counted."""

    name: str
    paused_at: datetime | None
    concurrency: int | None
    rate_limit: Annotated[int | None, Shown("rate.limit")]
    rate_period: Annotated[timedelta | None, Shown("rate.seconds")]
    key_concurrency: int
    key_rate_limit: Annotated[int | None, Shown("keyRate.limit")]
    key_rate_period: Annotated[timedelta | None, Shown("keyRate.seconds")]
    scheduled: int = 0
    pending: int = 0
    running: int = 0
    waiting: int = 0
    oldest_at: Annotated[datetime | None, Hidden()] = None  # when the oldest due job was due
    at_least: tuple[str, ...] = ()
