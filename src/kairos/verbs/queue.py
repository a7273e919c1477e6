"""Queues and workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from kairos.durations import Duration, duration
from kairos.errors import BadRequest, NotFound
from kairos.machine.names import check_name, check_range
from kairos.store.query import Query, Row, Verb
from kairos.store.rows import Queue, WorkerRow

LIMITS = ("concurrency", "rate", "key_concurrency", "key_rate")
# Of all queues' jobs no more than about so many are looked at: counting a backlog must not be work of its own.
MOST_COUNTED = 200_000
# A worker says that it is there every 10 s: one that was not heard of for three of those is taken for gone.
ALIVE = timedelta(seconds=30)


def queues(*, after: str | None = None, limit: int | None = None) -> Verb[list[Queue]]:
    """Every queue that has live work or settings, or at most `limit` after a name.

    Where one says `at_least`, there are so many or more.
    """
    found = yield Query("list_queues", (None, MOST_COUNTED, after, limit))
    return [_queue(row) for row in found]


def queue(name: str) -> Verb[Queue]:
    """One queue, if it has live work or settings."""
    check_name(name, "queue")
    found = yield Query("list_queues", (name, MOST_COUNTED, None, None))
    if not found:
        raise NotFound(f"There is no queue {name!r} with live work or settings.")
    return _queue(found[0])


def pause(queue: str) -> Verb[Queue]:
    """Stop picking from a queue; what runs goes on."""
    return (yield from _save_queue(queue, ["paused"], paused=True))


def resume(queue: str) -> Verb[Queue]:
    """Pick from a queue again."""
    answer = yield from _save_queue(queue, ["paused"], paused=False)
    yield Query("notify_queues", ([queue],))
    return answer


def limit(
    queue: str,
    *,
    concurrency: int | None = None,
    rate: tuple[int, Duration] | None = None,
    key_concurrency: int | None = None,
    key_rate: tuple[int, Duration] | None = None,
    only: Sequence[str] | None = None,
) -> Verb[Queue]:
    """Set a queue's limits over all workers, all of them at once; what is left out is lifted.

    `rate=(100, "1m")` lets a hundred jobs start a minute; the `key_` limits hold for each partition key.
    `only` names the limits to touch, where not all are meant.
    """
    for name, number in (("concurrency", concurrency), ("key_concurrency", key_concurrency)):
        if number is not None:
            check_range(number, name, 1, 32767)
    limits = [_rate(rate, "rate"), _rate(key_rate, "key_rate")]
    return (
        yield from _save_queue(
            queue,
            list(LIMITS if only is None else only),
            concurrency=concurrency,
            rate=limits[0],
            key_concurrency=key_concurrency,
            key_rate=limits[1],
        )
    )


def workers(*, after: str | None = None, limit: int | None = None) -> Verb[list[WorkerRow]]:
    """The workers that are there, by id: all of them, or at most `limit` after one."""
    found = yield Query("list_workers", (None, ALIVE, after, limit))
    return [WorkerRow(**row) for row in found]


def worker(name: str) -> Verb[WorkerRow]:
    """One worker."""
    check_name(name, "worker")
    found = yield Query("list_workers", (name, ALIVE, None, None))
    if not found:
        raise NotFound(f"There is no worker {name!r}; it may have left.")
    return WorkerRow(**found[0])


def drain(name: str) -> Verb[WorkerRow]:
    """Ask a worker to finish what it runs and leave."""
    check_name(name, "worker")
    if not (yield Query("drain_worker", (name,))):
        raise NotFound(f"There is no worker {name!r}; it may have left.")
    return (yield from worker(name))


def _queue(row: Row) -> Queue:
    return Queue(**{**row, "at_least": tuple(row["at_least"])})


def _save_queue(
    queue: str,
    changes: list[str],
    *,
    paused: bool = False,
    concurrency: int | None = None,
    rate: tuple[int | None, timedelta | None] = (None, None),
    key_concurrency: int | None = None,
    key_rate: tuple[int | None, timedelta | None] = (None, None),
) -> Verb[Queue]:
    check_name(queue, "queue")
    answer = yield Query(
        "save_queue", (queue, changes, paused, concurrency, *rate, key_concurrency, *key_rate)
    )
    return Queue(**answer[0])


def _rate(rate: tuple[int, Duration] | None, field: str) -> tuple[int | None, timedelta | None]:
    if rate is None:
        return None, None
    if not isinstance(rate, tuple | list) or len(rate) != 2:
        raise BadRequest(f'{field} is {rate!r}; give a count and a period, such as (100, "1m").', field=field)
    count, period = rate[0], duration(rate[1], field)
    check_range(count, field, 1, 2**31 - 1)
    if not period:
        raise BadRequest(f"{field} is {rate!r}, but a period of nothing has no rate.", field=field)
    return count, period
