"""Operations on alarms: list, acknowledge, and record what the checks found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from kairos.alarms.decide import Changes, Found, Open, decide
from kairos.alarms.kinds import CHECK_FAILED, KINDS
from kairos.errors import Conflict, NotFound
from kairos.machine.field_checks import LARGEST_ID, check_given_names, check_range, checked_id
from kairos.operations.alarm_checks import Findings
from kairos.operations.enqueue_jobs import insert
from kairos.operations.webhooks import deliveries
from kairos.shapes import read
from kairos.shapes.alarm import Alarm
from kairos.store.array_literals import instants, plain, texts
from kairos.store.query import Notify, Operation, Query, Row

# How often, over all workers, the cheap checks run, the slow checks run, and the ledger is counted job by job.
EVERY = timedelta(seconds=15)
SLOW_EVERY = timedelta(minutes=1)
COUNT_EVERY = timedelta(hours=1)
# With more jobs than this, the ledger is counted only by `kairos doctor`.
COUNT_MOST = 5_000_000

_MOST_INCIDENTS = 10_000  # taken by one run of the checks
_MOST_COMPACTED = 100_000  # rows of the ledger in one statement
_KEPT = timedelta(days=30)  # cleared alarms
_LARGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The alarms that one run of the checks raised and cleared; with `more`, another run should follow at once."""

    raised: list[Alarm]
    cleared: list[Alarm]
    more: bool = False


def alarms(*, all: bool = False, before: int | None = None, limit: int = 100) -> Operation[list[Alarm]]:  # noqa: A002
    """Return the open alarms, newest first; `all` adds the cleared ones."""
    check_range(limit, "limit", 1, _LARGEST_PAGE)
    if before is not None:
        check_range(before, "before", 1, LARGEST_ID)
    found = yield Query("list_alarms", (all, before, limit, None))
    return [read(Alarm, row) for row in found]


def acknowledge(alarm_id: int, *, actor: str | None = None) -> Operation[Alarm]:
    """Acknowledge an alarm. One about an event is cleared by that; one about a state once its cause is gone.

    For a ledger that does not balance, it also writes off the difference.
    """
    checked_id(alarm_id, "alarm")
    check_given_names(actor=actor)
    seen = yield Query("acknowledge_alarm", (alarm_id, actor))
    if not seen:
        if not (yield Query("list_alarms", (True, None, 1, alarm_id))):
            raise NotFound(f"There is no alarm {alarm_id}.")
        raise Conflict(f"Alarm {alarm_id} is cleared already: there is nothing to acknowledge.")
    return read(Alarm, seen[0])


def claim(every: timedelta = EVERY) -> Operation[Row | None]:
    """Claim the next run of the checks; return which parts are due, or None if one ran less than `every` ago."""
    found = yield Query("claim_alarm_check", (every, SLOW_EVERY, COUNT_EVERY))
    return found[0] if found else None


def record(findings: Findings, now: datetime, *, slow: bool = False) -> Operation[CheckResult]:
    """Raise and clear alarms, and enqueue webhook deliveries, in the transaction that holds the lock on alarms."""
    if slow:
        while (yield Query("compact_job_ledger", (_MOST_COMPACTED,)))[0]["rows"] >= _MOST_COMPACTED:
            pass
        yield Query("purge_alarms", (_KEPT,))
    found = [
        Found(row["kind"], row["subject"], row["count"], row["since"], now, detail=row["detail"])
        for row in findings.rows
    ]
    found += [
        Found(CHECK_FAILED, statement, 1, now, now, detail=why)
        for statement, why in findings.failures.items()
    ]
    happened = yield Query("take_incidents", (_MOST_INCIDENTS,))
    found += [Found(**{name: row[name] for name in _FOUND}) for row in happened if row["kind"] in KINDS]
    opened = [
        Open(**{name: row[name] for name in _OPEN})
        for row in (yield Query("list_alarms", (False, None, _LARGEST_PAGE * 100, None)))
    ]
    changes = decide(findings.kinds, found, opened, now)
    # The alarm of a failed check is cleared once the same check completes.
    changes.clear.extend(
        each.id for each in opened if each.kind == CHECK_FAILED and each.subject in findings.completed
    )
    raised, cleared = yield from _save(changes)
    if raised or cleared:
        calls = yield from deliveries(
            [("raised", each) for each in raised] + [("cleared", each) for each in cleared]
        )
        if calls:
            yield insert(calls)
            yield Notify(queues={call.queue for call in calls})
    return CheckResult(raised, cleared, more=sum(row["rows"] for row in happened) >= _MOST_INCIDENTS)


def _save(changes: Changes) -> Operation[tuple[list[Alarm], list[Alarm]]]:
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
    return [read(Alarm, row) for row in raised if row["raised"]], [read(Alarm, row) for row in cleared]


_FOUND = tuple(each.name for each in fields(Found))
_OPEN = tuple(each.name for each in fields(Open))
