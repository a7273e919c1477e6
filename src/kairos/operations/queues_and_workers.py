"""Operations on queues and workers: list, pause, resume, limit, drain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Unpack

from kairos.alarms.thresholds import LIVE_FOR
from kairos.durations import Duration, duration
from kairos.errors import BadRequest
from kairos.fsm.lifecycle import LIVE
from kairos.machine.field_checks import check_name, check_range
from kairos.shapes import read
from kairos.shapes.queue import LARGEST_LIMIT, LIMITS, Limits, Queue
from kairos.shapes.worker import WorkerRow
from kairos.store.query import Notify, Operation, Query, Row, required_row
from kairos.suggest import did_you_mean

# In each state at most about this many jobs are counted over all queues, so that a backlog does not slow the list down.
MOST_COUNTED = 100_000
# In how many priorities the jobs are counted one priority after the other, in all queues together: about 0.5 s.
MOST_PRIORITIES = 10_000
# The counts that a statement that changes a queue does not return.
_NOT_COUNTED: dict[str, Any] = {**dict.fromkeys(LIVE, 0), "oldest_at": None, "at_least": ()}


def queues(*, after: str | None = None, limit: int | None = None) -> Operation[list[Queue]]:
    """Return the queues that have or had jobs, have settings or have a live worker; at most `limit` after a name.

    `at_least` of a queue names the states that may have more jobs than were counted.
    """
    found = yield Query("list_queues", (None, MOST_COUNTED, after, limit, LIVE_FOR, MOST_PRIORITIES))
    return [read(Queue, row) for row in found]


def queue(name: str) -> Operation[Queue]:
    """Return one queue, if it has or had jobs, has settings or has a live worker."""
    check_name(name, "queue")
    missing = f"There is no queue {name!r}: it has no jobs and no settings, and no worker serves it."
    query = Query("list_queues", (name, MOST_COUNTED, None, None, LIVE_FOR, MOST_PRIORITIES))
    return read(Queue, (yield from required_row(query, missing)))


def pause(queue: str) -> Operation[Queue]:
    """Stop picking from a queue; running jobs continue."""
    return (yield from _save_queue(queue, ["paused"], paused=True))


def resume(queue: str) -> Operation[Queue]:
    """Pick from a queue again."""
    answer = yield from _save_queue(queue, ["paused"], paused=False)
    yield Notify(queues=[queue])
    return answer


def limit(queue: str, *, only: Sequence[str] | None = None, **limits: Unpack[Limits]) -> Operation[Queue]:
    """Set a queue's limits over all workers; a limit that is left out is removed.

    `only` names the limits to change; the others then stay as they are.
    """
    for name in limits:
        if name not in LIMITS:
            raise BadRequest(f"A queue has no limit {name!r}.{did_you_mean(name, LIMITS)}", field=name)
    return (yield from _save_queue(queue, list(LIMITS if only is None else only), limits=limits))


def declare_limits(declared: Mapping[str, Mapping[str, Any]]) -> Operation[None]:
    """Save the limits that actions declare for their queues; the other settings of the queues stay as they are."""
    for queue, limits in sorted(declared.items()):
        yield from limit(queue, **limits, only=sorted(limits))


def check_limits(queue: str, limits: Mapping[str, Any]) -> None:
    """Refuse limits that could not be saved."""
    next(limit(queue, **limits))


def workers(*, after: str | None = None, limit: int | None = None) -> Operation[list[WorkerRow]]:
    """Return the workers by id: all of them, or at most `limit` after one."""
    found = yield Query("list_workers", (None, LIVE_FOR, after, limit))
    return [read(WorkerRow, row) for row in found]


def worker(name: str) -> Operation[WorkerRow]:
    """Return one worker."""
    return read(WorkerRow, (yield from _worker_row("list_workers", name, LIVE_FOR, None, None)))


def drain(name: str) -> Operation[WorkerRow]:
    """Ask a worker to finish what it runs and leave."""
    yield from _worker_row("drain_worker", name)
    yield Notify(drained=[name])
    return (yield from worker(name))


def _worker_row(statement: str, name: str, *params: Any) -> Operation[Row]:
    check_name(name, "worker")
    missing = f"There is no worker {name!r}; it may have left."
    return (yield from required_row(Query(statement, (name, *params)), missing))


def _save_queue(
    queue: str, changes: list[str], *, paused: bool = False, limits: Mapping[str, Any] = MappingProxyType({})
) -> Operation[Queue]:
    values = [value for name in LIMITS for value in _columns(name, limits.get(name))]
    check_name(queue, "queue")
    answer = yield Query("save_queue", (queue, changes, paused, *values))
    return read(Queue, {**_NOT_COUNTED, **answer[0]})


def _columns(name: str, limit: Any) -> tuple[object, ...]:
    """Validate a limit, and return the values of its columns: a rate has two."""
    if name.endswith("rate"):
        return _rate(limit, name)
    if limit is not None:
        check_range(limit, name, 1, LARGEST_LIMIT)
    return (limit,)


def _rate(rate: tuple[int, Duration] | None, field: str) -> tuple[int | None, timedelta | None]:
    if rate is None:
        return None, None
    if not isinstance(rate, tuple | list) or len(rate) != 2:
        raise BadRequest(f'{field} is {rate!r}; give a count and a period, such as (100, "1m").', field=field)
    count, period = rate[0], duration(rate[1], field)
    check_range(count, field, 1, 2**31 - 1)
    if not period:
        raise BadRequest(f"{field} is {rate!r}; the period must be positive.", field=field)
    return count, period
