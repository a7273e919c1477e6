"""Fire schedules: any number of workers do so without a leader, with exactly one job per tick.

A schedule fires by its stored plan; its sentence is compiled only if an older release saved it without one.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from kairos import json_codec
from kairos.errors import KairosError
from kairos.logger import Logger
from kairos.operations.declared_schedules import ORPHANED
from kairos.schedule import IntentError, Plan
from kairos.schedule.parse import read_sentence
from kairos.schedule.plan.stored import VERSION
from kairos.schedule.tick_policy import Decision, TickPolicy, decide
from kairos.store.array_literals import instants, microseconds, plain, texts
from kairos.store.async_store import AsyncStore, Connection
from kairos.store.driver_errors import LOCKED, PASSING, REFUSED
from kairos.store.query import Notify, Query, Row
from kairos.worker.commit import LOCK_WAIT, open_keys

log = Logger("kairos.worker")

BATCH = 500
# After a long downtime ticks are decided in portions, so that a transaction stays short: at most `MAX_TICKS` of one
# schedule, and no further schedule after `MAX_TICKS` ticks or `MAX_SECONDS` in all. In one transaction, the ticks that
# hundreds of schedules missed in a night would exceed the transaction timeout, again and again.
MAX_TICKS = 1000
MAX_SECONDS = 0.25
# Seconds for which a schedule whose ticks Postgres refused is skipped.
LEFT_ALONE = 60.0
# Seconds for which a schedule is skipped whose ticks wait for a lock of another session. After `_MOST_LOCKED` such
# schedules the others wait too, since each one costs LOCK_WAIT.
LOCKED_PAUSE = 0.4
_MOST_LOCKED = 4
# find_schedule_problems.sql finds such schedules by this text.
UNREADABLE = "its sentence cannot be read"
_LONGEST_REASON = 500
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ScheduleTicks:
    """The decisions on the due ticks of one schedule, and its cursor and next tick after them."""

    row: Row
    decisions: Sequence[Decision]
    cursor_at: datetime
    next_tick_at: datetime | None

    @property
    def fired(self) -> int:
        return sum(1 for each in self.decisions if each.reason is None)


class Ticker:
    """Lock the due schedules, decide on their ticks, enqueue jobs and advance the schedules, in one transaction.

    It has no loop of its own: the sweeper calls it when the next tick is due.
    """

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._calendars = store.settings.holidays
        self._planned = False
        self._locked: list[str] = []  # the schedules that the last transaction locked
        # Schedules whose ticks Postgres refused or another session blocks, and until when they are skipped.
        self._refused: dict[str, float] = {}
        self.is_blocked = False

        @lru_cache(maxsize=20_000)
        def read_plan(document: str) -> Plan:
            return Plan.from_json(json.loads(document), self._calendars)

        self._read_plan = read_plan

    async def fire(self) -> bool:
        """Decide on the due ticks, up to a batch; return whether there may be more.

        `is_blocked` then says whether a lock of another session kept some from being fired.
        """
        self.is_blocked = False
        if not self._planned:
            await self._store_missing_plans()
            self._planned = True
        self._refused = {name: until for name, until in self._refused.items() if time.monotonic() < until}
        try:
            return await self._fire(BATCH)
        except LOCKED:
            self.is_blocked = True
            if not self._locked:
                return False  # the table of schedules itself is locked
            return await self._fire_singly()
        except PASSING:
            raise
        except REFUSED:
            return await self._fire_singly()

    async def has_due_schedule(self) -> bool:
        """Whether a schedule is due; after `fire`, another session has it locked, or it has just become due."""
        query = Query("find_due_schedule", (VERSION, list(self._refused)))
        return bool((await self._store.run(query))[0]["due"])

    async def _fire_singly(self) -> bool:
        """Fire one schedule at a time: what is refused or locked then concerns that one, and the others go on."""
        locked = 0
        for _ in range(BATCH):
            try:
                if not await self._fire(1):
                    return False
            except LOCKED as error:
                if not self._locked or locked == _MOST_LOCKED:
                    return False
                locked += 1
                (name,) = self._locked
                self._refused[name] = time.monotonic() + LOCKED_PAUSE
                log.debug("the ticks of a schedule wait for a lock", schedule=name, error=str(error))
            except PASSING:
                raise
            except REFUSED as error:
                (name,) = self._locked
                self._refused[name] = time.monotonic() + LEFT_ALONE
                log.error("the ticks of a schedule are refused", schedule=name, error=str(error))
        return True

    async def _fire(self, most: int) -> bool:
        self._locked = []
        async with self._store.transaction() as connection:
            await self._store.on(connection, Query("limit_lock_wait", (LOCK_WAIT,)))
            rows = await self._store.on(
                connection, Query("lock_due_schedules", (most, VERSION, list(self._refused)))
            )
            self._locked = [row["name"] for row in rows]
            batch, left = await self._decide_portion(connection, rows)
            stopped = await self._cancel_live(connection, batch)
            fired = await self._store.on(connection, fire_query(batch))
            await self._store.on(connection, advance_query(batch))
        skipped = Counter((row["schedule"], row["reason"]) for row in fired if row["reason"] is not None)
        for (schedule, reason), number in skipped.items():
            log.warning("ticks were skipped", schedule=schedule, ticks=number, reason=reason)
        await self._notify(fired, stopped)
        return left or len(rows) == most or any(len(ticks.decisions) == MAX_TICKS for ticks in batch)

    async def _decide_portion(
        self, connection: Connection, rows: Sequence[Row]
    ) -> tuple[list[ScheduleTicks], bool]:
        """Decide on the schedules in their order, as far as a transaction goes; return whether some are left."""
        batch: list[ScheduleTicks] = []
        ticks, deadline = 0, time.monotonic() + MAX_SECONDS
        for place, row in enumerate(rows, start=1):
            if (decided := await self._decide(connection, row)) is not None:
                batch.append(decided)
                ticks += len(decided.decisions)
            if ticks >= MAX_TICKS or time.monotonic() > deadline:
                return batch, place < len(rows)
        return batch, False

    async def _store_missing_plans(self) -> None:
        """Compile and store the plans of schedules that an older release saved, whether they are due or not."""
        after = ""
        while rows := await self._store.run(Query("list_schedules_without_plan", (after, BATCH))):
            for row in rows:
                try:
                    plan = read_sentence(row["sentence"], self._calendars)
                except IntentError:
                    continue  # `_decide` pauses it, with the reason, when it is due
                await self._store.run(_save_plan(row, plan))
            after = rows[-1]["name"]

    async def _decide(self, connection: Connection, row: Row) -> ScheduleTicks | None:
        """Decide on one schedule. If its code is gone or it cannot be evaluated it is paused; the others go on."""
        if row["orphaned"]:
            await self._pause(connection, row, ORPHANED)
            return None
        try:
            return decide_ticks(row, await self._plan(connection, row))
        except Exception as error:  # noqa: BLE001 (an error of one row must not stop the others)
            why = error.message if isinstance(error, KairosError) else f"{type(error).__name__}: {error}"
            await self._pause(connection, row, f"{UNREADABLE}: {json_codec.printable(why, _LONGEST_REASON)}")
            return None

    async def _plan(self, connection: Connection, row: Row) -> Plan:
        if row["plan"] is not None:
            return self._read_plan(row["plan"])
        plan = read_sentence(row["sentence"], self._calendars)
        await self._store.on(connection, _save_plan(row, plan))
        return plan

    async def _pause(self, connection: Connection, row: Row, reason: str) -> None:
        await self._store.on(connection, Query("pause_schedule", (row["name"], True, reason)))
        log.error("a schedule is paused", schedule=row["name"], sentence=row["sentence"], reason=reason)

    async def _cancel_live(self, connection: Connection, batch: Sequence[ScheduleTicks]) -> list[Row]:
        """Cancel in the order of job ids over all schedules, the order in which outcomes are committed: no deadlock."""
        asked = sorted(
            (job_id, f"a later tick of schedule {ticks.row['name']}")
            for ticks in batch
            if ticks.row["overlap"] == "cancel" and ticks.fired
            for job_id in ticks.row["live"]
        )
        queries = [Query("cancel_jobs", ([job_id], reason, "ticker")) for job_id, reason in asked]
        return [row for query in queries for row in await self._store.on(connection, query)]

    async def _notify(self, fired: Sequence[Row], stopped: Sequence[Row]) -> None:
        """After the commit: open the keys of cancelled jobs, and notify the workers."""
        if keys := sorted({row["freed_key"] for row in stopped} - {None}):
            await open_keys(self._store, keys)
        self._store.outbox.add(
            Notify(
                queues={row["queue"] for row in fired} - {None},
                cancelled=[row["id"] for row in stopped if row["running"]],
            )
        )


def decide_ticks(row: Row, plan: Plan) -> ScheduleTicks:
    """Decide, without I/O, on the ticks that are due since the cursor, and find the next one."""
    now, ends_at = row["now"], row["ends_at"]
    after = row["cursor_at"]
    if row["starts_at"] is not None and row["starts_at"] > after:
        after = row["starts_at"] - _MICROSECOND  # a tick at the start itself is one
    until = min(now, ends_at) if ends_at else now
    due: list[datetime] = []
    next_tick_at: datetime | None = None
    for instant in plan.iterate(after):
        if instant > until or len(due) == MAX_TICKS:
            next_tick_at = instant if ends_at is None or instant <= ends_at else None
            break
        due.append(instant)
    decisions = (
        decide(
            row["name"],
            TickPolicy(row["overlap"], row["catch_up"], row["catch_up_within"], row["jitter"]),
            due,
            now,
            running=bool(row["live"]),
            paused_until=row["paused_until"],
            left=row["ticks_left"],
            more=next_tick_at is not None and next_tick_at <= until,
        )
        if due
        else []
    )
    spent = sum(1 for each in decisions if each.reason is None)
    if row["ticks_left"] is not None and row["ticks_left"] - spent <= 0:
        next_tick_at = None
    return ScheduleTicks(row, decisions, due[-1] if due else after, next_tick_at)


def _save_plan(row: Row, plan: Plan) -> Query:
    return Query("save_plan", (row["name"], row["generation"], json_codec.dumps(plan.to_json(), "plan")))


def fire_query(batch: Sequence[ScheduleTicks]) -> Query:
    decided = [(ticks.row, each) for ticks in batch for each in ticks.decisions]
    return Query(
        "fire_ticks",
        (
            texts([row["name"] for row, _ in decided]),
            plain([row["generation"] for row, _ in decided]),
            instants(each.tick_at for _, each in decided),
            texts([each.reason for _, each in decided]),
            microseconds(each.delay for _, each in decided),
            False,
            None,
            None,
        ),
    )


def advance_query(batch: Sequence[ScheduleTicks]) -> Query:
    return Query(
        "advance_schedules",
        (
            texts([ticks.row["name"] for ticks in batch]),
            instants(ticks.cursor_at for ticks in batch),
            instants(ticks.next_tick_at for ticks in batch),
            plain([ticks.fired for ticks in batch]),
        ),
    )
