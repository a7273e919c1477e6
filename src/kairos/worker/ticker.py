"""Fires schedules: any number of tickers, no leader, exactly one job per tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from kairos import codec
from kairos.errors import KairosError
from kairos.schedule import Plan
from kairos.schedule.policies import Decision, Policy, decide
from kairos.store.columns import instants, microseconds, plain, texts
from kairos.store.pool import AsyncStore, Connection
from kairos.store.query import Query, Row
from kairos.worker.commit import open_keys
from kairos.worker.logs import Log

log = Log("kairos.worker")

BATCH = 500
# After a long downtime a schedule's ticks are decided in portions, so that no transaction grows without bound.
MAX_TICKS = 1000
_LONGEST_REASON = 500
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one schedule does this time: its decided ticks, and where it stands then."""

    row: Row
    decisions: Sequence[Decision]
    cursor_at: datetime
    next_tick_at: datetime | None

    @property
    def fired(self) -> int:
        return sum(1 for each in self.decisions if each.reason is None)


class Ticker:
    """One transaction locks what is due, decides, enqueues and moves on: all of it, or nothing.

    It has no loop of its own: the next tick is one of the deadlines on the sweeper's agenda.
    """

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        calendars = store.settings.holidays

        @lru_cache(maxsize=20_000)
        def plan_of(sentence: str) -> Plan:
            """The plan of a stored sentence: every anchor in it is absolute, so it means today what it meant then."""
            return Plan.of(sentence, calendars)

        self._plan_of = plan_of

    async def fire(self) -> bool:
        """Decide on what is due, up to a batch; answers whether there may be more."""
        async with self._store.transaction() as connection:
            rows = await self._store.on(connection, Query("due_schedules", (BATCH,)))
            turns = [turn for row in rows if (turn := await self._turn(connection, row)) is not None]
            stopped = await self._cancel_live(connection, turns)
            fired = await self._store.on(connection, fire_query(turns))
            await self._store.on(connection, advance_query(turns))
        for row in fired:
            if row["reason"] is not None:
                log.warning(
                    "a tick was skipped",
                    schedule=row["schedule"],
                    tick_at=row["tick_at"],
                    reason=row["reason"],
                )
        await self._hint(fired, stopped)
        return len(rows) == BATCH or any(len(turn.decisions) == MAX_TICKS for turn in turns)

    async def _turn(self, connection: Connection, row: Row) -> Turn | None:
        """A schedule that cannot be read here is paused for all to see; the others go on."""
        try:
            return take_turn(row, self._plan_of(row["sentence"]))
        except Exception as error:  # noqa: BLE001 (whatever is wrong with one row, it is that row's)
            why = error.message if isinstance(error, KairosError) else f"{type(error).__name__}: {error}"
            reason = f"its sentence cannot be read: {codec.printable(why, _LONGEST_REASON)}"
            await self._store.on(connection, Query("pause_schedule", (row["name"], True, reason)))
            log.error("a schedule is paused", schedule=row["name"], sentence=row["sentence"], reason=reason)
            return None

    async def _cancel_live(self, connection: Connection, turns: Sequence[Turn]) -> list[Row]:
        """In the order of ids over all schedules: the outcomes of these jobs may be on their way, in that order."""
        asked = sorted(
            (job_id, f"a later tick of schedule {turn.row['name']}")
            for turn in turns
            if turn.row["overlap"] == "cancel" and turn.fired
            for job_id in turn.row["live"]
        )
        queries = [Query("cancel_jobs", ([job_id], reason, "ticker")) for job_id, reason in asked]
        return [row for query in queries for row in await self._store.on(connection, query)]

    async def _hint(self, fired: Sequence[Row], stopped: Sequence[Row]) -> None:
        """What is committed, told to whom it concerns: NOTIFY in the transaction would make commits queue up."""
        if running := [row["id"] for row in stopped if row["running"]]:
            await self._store.run(Query("notify_cancel", (running,)))
        if keys := sorted({row["leaves_line"] for row in stopped} - {None}):
            await open_keys(self._store, keys)
        if queues := sorted({row["queue"] for row in fired} - {None}):
            await self._store.run(Query("notify_queues", (queues,)))


def take_turn(row: Row, plan: Plan) -> Turn:
    """The pure part: which ticks have come since the cursor, what each policy makes of them, what is next."""
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
            Policy(row["overlap"], row["catch_up"], row["catch_up_within"], row["jitter"]),
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
    return Turn(row, decisions, due[-1] if due else after, next_tick_at)


def fire_query(turns: Sequence[Turn]) -> Query:
    decided = [(turn.row, each) for turn in turns for each in turn.decisions]
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


def advance_query(turns: Sequence[Turn]) -> Query:
    return Query(
        "advance_schedules",
        (
            texts([turn.row["name"] for turn in turns]),
            instants(turn.cursor_at for turn in turns),
            instants(turn.next_tick_at for turn in turns),
            plain([turn.fired for turn in turns]),
        ),
    )
