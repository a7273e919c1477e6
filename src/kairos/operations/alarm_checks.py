"""The table of checks for alarms: which statement finds which kinds, how often it runs, and with which thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kairos.alarms.thresholds import Thresholds
from kairos.schedule.plan.stored import VERSION as PLAN_VERSION
from kairos.store.array_literals import microseconds, texts
from kairos.store.query import Query, Row

# At most this many alarms are open of a kind whose subjects callers choose, such as queue names.
MOST_SUBJECTS = 200
# In how many priorities late jobs are searched, in all queues together: about 0.3 s.
MOST_PRIORITIES = 10_000


@dataclass(frozen=True, slots=True)
class Check:
    """One statement that finds alarms of some kinds; a `slow` one runs once a minute instead of every 15 seconds.

    Each check runs with a time limit of its own: if one fails, the others still raise and clear their alarms, and
    the failure is an alarm of the kind `check_failed`.
    """

    statement: str
    kinds: frozenset[str]
    parameters: Callable[[Thresholds], tuple[Any, ...]]
    slow: bool = False


@dataclass(slots=True)
class Findings:
    """The findings of one run of the checks; `kinds` are those of the checks that completed.

    `completed` and `failures` hold the statements, the latter with the reason.
    """

    rows: list[Row] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    completed: set[str] = field(default_factory=set)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, check: Check, rows: Sequence[Row]) -> None:
        self.rows += rows
        self.kinds |= check.kinds
        self.completed.add(check.statement)


def _waiting(thresholds: Thresholds) -> tuple[Any, ...]:
    actions = list(thresholds.waiting)
    return (
        thresholds.after["jobs_waiting"],
        texts(actions),
        microseconds(thresholds.waiting[action] for action in actions),
    )


def _slow(statement: str, kind: str) -> Check:
    """Return a slow check for one kind of alarm, whose only parameter is the threshold of that kind."""
    return Check(statement, frozenset({kind}), lambda t: (t.after[kind],), slow=True)


CHECKS: Sequence[Check] = (
    Check(
        "find_late_queues",
        frozenset({"jobs_overdue", "queue_unserved"}),
        lambda t: (
            t.after["jobs_overdue"],
            t.after["queue_unserved"],
            t.live_for,
            MOST_SUBJECTS,
            MOST_PRIORITIES,
        ),
    ),
    Check("find_unknown_actions", frozenset({"action_unknown"}), lambda t: (t.live_for, MOST_SUBJECTS)),
    Check("find_long_waits", frozenset({"jobs_waiting"}), _waiting),
    Check(
        "find_schedule_problems",
        frozenset({"schedule_paused", "schedule_unreadable", "schedule_overdue"}),
        lambda t: (PLAN_VERSION, t.after["schedule_overdue"], t.live_for, MOST_SUBJECTS),
    ),
    Check(
        "find_worker_problems",
        frozenset({"clock_skewed", "listener_deaf", "commits_blocked"}),
        lambda t: (
            t.live_for,
            t.after["clock_skewed"],
            t.after["listener_deaf"],
            t.after["commits_blocked"],
        ),
    ),
    Check(
        "find_overdue_leases",
        frozenset({"leases_overdue"}),
        lambda t: (t.after["leases_overdue"], t.live_for, MOST_SUBJECTS),
    ),
    Check("find_failed_deliveries", frozenset({"webhook_undeliverable"}), lambda _: ()),
    Check(
        "find_late_retention",
        frozenset({"retention_behind"}),
        lambda t: (t.live_for, t.after["retention_behind"]),
        slow=True,
    ),
    Check(
        "find_late_vacuum",
        frozenset({"vacuum_behind"}),
        lambda t: (t.dead_rows, t.after["vacuum_behind"]),
        slow=True,
    ),
    _slow("find_open_transactions", "transaction_open"),
    _slow("find_asynchronous_standbys", "standby_asynchronous"),
    # Its alarm is cleared by check_job_ledger alone, which counts.
    Check("find_unbalanced_removals", frozenset(), lambda _: (), slow=True),
    _slow("find_long_runs", "jobs_running_long"),
    _slow("find_held_up_keys", "key_held_up"),
)


def ledger_check(most: int) -> Check:
    """Return the check that counts the jobs one by one, if there are at most `most`; the alarm loop runs it hourly."""
    return Check("check_job_ledger", frozenset({"ledger_unbalanced"}), lambda _: (most,), slow=True)


def checks_of(*, slow: bool, count: int = 0) -> list[Check]:
    """Return the checks to run; with `slow`, the ledger is counted too, if there are at most `count` jobs."""
    chosen = [check for check in CHECKS if slow or not check.slow]
    return [*chosen, ledger_check(count)] if count else chosen


def query(check: Check, thresholds: Thresholds) -> Query:
    return Query(check.statement, check.parameters(thresholds))
