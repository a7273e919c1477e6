"""Run the alarm checks, and raise and clear alarms; any number of workers run them as often as one would."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from kairos.alarms.thresholds import Thresholds
from kairos.logger import Logger
from kairos.operations.alarm_checks import Findings, checks_of, query
from kairos.operations.alarms import COUNT_MOST, EVERY, CheckResult, claim, record
from kairos.store.async_store import AsyncStore, Connection
from kairos.store.query import Outbox, Query, drive
from kairos.worker.loop import Loop

log = Logger("kairos.alarms")

# A request for alarms runs the checks again if the last run is older than this.
FRESH = timedelta(seconds=5)
# Seconds that one check may take. A check that takes longer becomes an alarm itself, and the others continue.
BUDGET = 5.0


class AlarmLoop(Loop):
    """Run the cheap checks every 15 s; take the lock on alarms only if there is something to raise or clear."""

    name = "alarm loop"

    def __init__(self, store: AsyncStore, thresholds: Thresholds) -> None:
        super().__init__()
        self._store = store
        self._thresholds = thresholds

    async def tick(self) -> float:
        await run_checks_if_due(self._store, self._thresholds, EVERY)
        return EVERY.total_seconds()


async def run_checks_if_due(store: AsyncStore, thresholds: Thresholds, every: timedelta = FRESH) -> None:
    """Run the checks, unless any process did so less than `every` ago."""
    due = await drive(claim(every), store.run)
    if due is None:
        return
    quiet = not (due["happened"] or due["open"] or due["slow"])
    if quiet and await _is_quiet(store, thresholds):
        return
    await run_checks(store, thresholds, slow=due["slow"], count=COUNT_MOST if due["count"] else 0)


async def run_checks(
    store: AsyncStore, thresholds: Thresholds, *, slow: bool = True, count: int = 0, report: bool = True
) -> CheckResult:
    """Run all checks and record what they found; with `report`, log the alarms that were raised and cleared."""
    while True:
        result = await store.in_transaction(partial(_check_and_record, store, thresholds, slow, count))
        if report:
            _report(result)
        if not result.more:
            return result
        slow, count = False, 0  # the next rounds only take the incidents that are left


async def _check_and_record(
    store: AsyncStore, thresholds: Thresholds, slow: bool, count: int, connection: Connection, outbox: Outbox
) -> CheckResult:
    """Take the lock on alarms, run each check with its own time limit, and record what they found."""
    run = partial(store.on, connection)
    now = (await run(Query("lock_alarm_check")))[0]["now"]
    findings = Findings()
    for check in checks_of(slow=slow, count=count):
        # On request the ledger is counted in full, however long that takes.
        budget = store.statement_timeout if count > COUNT_MOST and check.slow else budget_of(store)
        await run(Query("limit_statement_time", (_milliseconds(budget),)))
        found = await store.attempt(connection, query(check, thresholds))
        if isinstance(found, str):
            findings.failures[check.statement] = found
        else:
            findings.add(check, found)
    await run(Query("limit_statement_time", (_milliseconds(store.statement_timeout),)))
    return await drive(record(findings, now, slow=slow), run, outbox)


async def _is_quiet(store: AsyncStore, thresholds: Thresholds) -> bool:
    """Whether every cheap check completes and finds nothing; needs no lock."""

    async def work(connection: Connection, _: Outbox) -> bool:
        await store.on(connection, Query("limit_statement_time", (_milliseconds(budget_of(store)),)))
        for check in checks_of(slow=False):
            if await store.attempt(connection, query(check, thresholds)):
                return False
        return True

    return await store.in_transaction(work)


def budget_of(store: AsyncStore) -> float:
    """Return the seconds that one check may take: fewer than the store waits before it drops the connection."""
    return min(BUDGET, store.statement_timeout / 2)


def _milliseconds(seconds: float) -> str:
    return str(max(1, round(seconds * 1000)))


def _report(result: CheckResult) -> None:
    for alarm in result.raised:
        write = log.error if alarm.severity == "error" else log.warning
        write("alarm raised", alarm=alarm.id, kind=alarm.kind, subject=alarm.subject, cause=alarm.cause)
    for alarm in result.cleared:
        log.info("alarm cleared", alarm=alarm.id, kind=alarm.kind, subject=alarm.subject)
