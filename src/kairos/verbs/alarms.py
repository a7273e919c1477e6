"""Looking for what is wrong, and what people do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from kairos.alarms.decide import Changes, Found, Open, decide
from kairos.alarms.kinds import KINDS
from kairos.alarms.thresholds import Thresholds
from kairos.errors import BadRequest, Conflict, NotFound
from kairos.machine.names import LARGEST_ID, check_name, check_range
from kairos.store.columns import instants, microseconds, plain, texts
from kairos.store.query import Query, Row, Verb
from kairos.verbs.accept import insert
from kairos.verbs.webhooks import deliveries

# How often, over all workers: the cheap checks; what falls behind slowly; the ledger, job by job.
EVERY = timedelta(seconds=15)
DECAY_EVERY = timedelta(minutes=1)
COUNT_EVERY = timedelta(hours=1)
# Beyond so many jobs the ledger is counted only when a person asks.
COUNT_MOST = 5_000_000

_INCIDENTS = 10_000
_FOLD = 100_000
_KEPT = timedelta(days=30)
_LARGEST_PAGE = 1000
_LEDGER = "ledger_unbalanced"
_SLOW = frozenset({"retention_behind", "vacuum_behind", "transaction_open", _LEDGER})
_QUICK = frozenset(kind.name for kind in KINDS.values() if not kind.happens) - _SLOW


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that would be silent, made loud."""

    id: int
    kind: str
    subject: str
    severity: str
    cause: str
    remedy: str
    count: int
    first_at: datetime
    last_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    cleared_at: datetime | None


@dataclass(frozen=True, slots=True)
class Look:
    """What one look changed; `more` says that another should follow at once."""

    raised: list[Alarm]
    cleared: list[Alarm]
    more: bool = False


def alarms(*, all: bool = False, before: int | None = None, limit: int = 100) -> Verb[list[Alarm]]:  # noqa: A002
    """The alarms that are open, newest first; `all` adds those that were cleared."""
    check_range(limit, "limit", 1, _LARGEST_PAGE)
    if before is not None:
        check_range(before, "before", 1, LARGEST_ID)
    found = yield Query("list_alarms", (all, before, limit, None))
    return [_alarm(row) for row in found]


def acknowledge(alarm_id: int, *, actor: str | None = None) -> Verb[Alarm]:
    """Say that somebody has seen it: what happened is cleared by that, what lasts is so when its cause is gone.

    For a ledger that does not balance it writes the difference off.
    """
    if isinstance(alarm_id, bool) or not isinstance(alarm_id, int):
        raise BadRequest(f"An alarm's id is a whole number, not {alarm_id!r}.", field="id")
    if not 0 < alarm_id <= LARGEST_ID:
        raise NotFound(f"There is no alarm {alarm_id}.")
    if actor is not None:
        check_name(actor, "actor")
    seen = yield Query("acknowledge_alarm", (alarm_id, actor))
    if not seen:
        if not (yield Query("list_alarms", (True, None, 1, alarm_id))):
            raise NotFound(f"There is no alarm {alarm_id}.")
        raise Conflict(f"Alarm {alarm_id} is cleared already: there is nothing to acknowledge.")
    return _alarm(seen[0])


def claim(every: timedelta = EVERY) -> Verb[Row | None]:
    """Take the next look, unless somebody looked less than `every` ago; answers which parts of it are due."""
    found = yield Query("claim_watch", (every, DECAY_EVERY, COUNT_EVERY))
    return found[0] if found else None


def find(thresholds: Thresholds, *, decay: bool = False, count: int = 0) -> Verb[list[Row]]:
    """Every state that is wrong now; with `decay` also the slow ones; the ledger if there are at most `count` jobs."""
    after, actions = thresholds.after, list(thresholds.waiting)
    rows = list(
        (
            yield Query(
                "find_alarms",
                (
                    after["jobs_overdue"],
                    after["queue_unserved"],
                    thresholds.live_for,
                    after["jobs_waiting"],
                    texts(actions),
                    microseconds(thresholds.waiting[action] for action in actions),
                    after["clock_skewed"],
                    after["listener_deaf"],
                ),
            )
        )
    )
    if decay:
        rows += yield Query(
            "find_decay",
            (
                thresholds.live_for,
                after["retention_behind"],
                thresholds.dead_rows,
                after["vacuum_behind"],
                after["transaction_open"],
            ),
        )
    if count:
        rows += yield Query("count_ledger", (count,))
    return rows


def look(thresholds: Thresholds, *, decay: bool = False, count: int = 0) -> Verb[Look]:
    """Find, decide, raise and clear, and enqueue what webhooks are told: one transaction, one watcher at a time."""
    now = (yield Query("lock_watch"))[0]["now"]
    if decay:
        while (yield Query("fold_ledger", (_FOLD,)))[0]["rows"] >= _FOLD:
            pass
        yield Query("forget_alarms", (_KEPT,))
    wrong = yield from find(thresholds, decay=decay, count=count)
    found = [
        Found(row["kind"], row["subject"], row["count"], row["since"], now, detail=row["detail"])
        for row in wrong
    ]
    happened = yield Query("take_incidents", (_INCIDENTS,))
    found += [Found(**{name: row[name] for name in _FOUND}) for row in happened if row["kind"] in KINDS]
    opened = yield Query("list_alarms", (False, None, _LARGEST_PAGE * 100, None))
    looked = _QUICK | (_SLOW if decay and count else _SLOW - {_LEDGER} if decay else frozenset())
    changes = decide(looked, found, [Open(**{name: row[name] for name in _OPEN}) for row in opened], now)
    raised, cleared = yield from _save(changes)
    if raised or cleared:
        calls = yield from deliveries(
            [("raised", each) for each in raised] + [("cleared", each) for each in cleared]
        )
        if calls:
            yield insert(calls)
    return Look(raised, cleared, more=sum(row["rows"] for row in happened) >= _INCIDENTS)


def _save(changes: Changes) -> Verb[tuple[list[Alarm], list[Alarm]]]:
    raised: Sequence[Row] = ()
    cleared: Sequence[Row] = ()
    if changes.clear:
        cleared = yield Query("clear_alarms", (changes.clear,))
    if reports := changes.report:
        raised = yield Query(
            "raise_alarms",
            (
                texts([each.kind for each in reports]),
                texts([each.subject for each in reports]),
                texts([each.severity for each in reports]),
                texts([each.cause for each in reports]),
                texts([each.remedy for each in reports]),
                plain([each.count for each in reports]),
                instants(each.first_at for each in reports),
                instants(each.last_at for each in reports),
            ),
        )
    return [_alarm(row) for row in raised if row["raised"]], [_alarm(row) for row in cleared]


def _alarm(row: Row) -> Alarm:
    return Alarm(**{name: row[name] for name in _ALARM})


_ALARM = tuple(each.name for each in fields(Alarm))
_FOUND = tuple(each.name for each in fields(Found))
_OPEN = tuple(each.name for each in fields(Open))
