"""Runs a few sessions in every order their statements can take, against a real Postgres.

A session is ordinary engine code (a verb, a picker, a flusher) over a `StepStore`, which hands each statement to
the explorer instead of sending it. A statement that waits for a lock is found by `pg_blocking_pids` and stays
parked until its blocker lets go. A statement may be gated: its snapshot is then one step and the rest of
it another, so that others can commit in between without any lock being waited for.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg
from tests.interleavings.stepping import AuditedResponse, Session, StepStore

from kairos.store.query import Query, Row, statements

_WAITS = "select cardinality(pg_blocking_pids($1)) > 0"
# The gate: a statement of a gated session stops where it first asks what time it is. Volatile, so that it is asked
# while the statement runs, on its snapshot, and not while it is planned.
_INSTALL_GATE = """
create or replace function kairos.now() returns timestamptz language plpgsql volatile as $$
begin
  if current_setting('kairos.gate', true) <> '' then
    perform pg_advisory_lock_shared(current_setting('kairos.gate')::bigint);
    perform pg_advisory_unlock_shared(current_setting('kairos.gate')::bigint);
  end if;
  return statement_timestamp();
end $$
"""
_BOUNDED_WAIT = re.compile(r"set_config\('lock_timeout', (\S+), true\)")
_TIMEOUT = 60.0


class Stuck(AssertionError):
    """Sessions that all wait for one another."""


@dataclass
class Outcome:
    """One order, what each session answered, and the errors Postgres raised."""

    trace: list[str] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, BaseException] = field(default_factory=dict)

    def __str__(self) -> str:
        return " → ".join(self.trace)


class Player:
    """One session on its own connection."""

    def __init__(self, name: str, session: Session, connection: asyncpg.Connection, gate: int) -> None:
        self.name = name
        self.connection = connection
        self.pid = connection.get_server_pid()
        self.gate = gate
        self.gated = self.finished = self.dead = False
        self.statement: asyncio.Task[Any] | None = None
        self.store = StepStore()
        self.body = asyncio.ensure_future(session(self.store))

    @property
    def goes_on(self) -> bool:
        """Whether its next statement belongs to the same step: nobody can tell the difference, or cares."""
        inside = self.connection.is_in_transaction()
        return inside and (self.store.coarse or self.store.is_reading)

    async def advance(self, outcome: Outcome) -> None:
        """Let the session's own code run until it wants another statement, or ends."""
        wants = asyncio.ensure_future(self.store.wants())
        await asyncio.wait([wants, self.body], return_when=asyncio.FIRST_COMPLETED)
        if wants.done():
            return
        wants.cancel()
        self.finished = True
        error = self.body.exception()
        if error is None:
            outcome.answers[self.name] = self.body.result()
        elif not isinstance(error, AuditedResponse):
            outcome.errors[self.name] = error

    async def close(self) -> bool:
        """Whether the connection can be used again."""
        self.body.cancel()
        await asyncio.wait([self.body])
        if not self.dead and self.statement is None:
            await self.connection.execute("rollback; set kairos.gate = ''")
            return True
        self.connection.terminate()
        if self.statement is not None:
            await asyncio.wait([self.statement])
            self.statement.exception()
        return False


class Explorer:
    """`explore` runs all orders of the sessions it is given."""

    def __init__(self, url: str, monitor: asyncpg.Connection) -> None:
        # A session here waits for a lock for as long as the order makes it wait.
        self.sql: dict[str, str] = {
            name: _BOUNDED_WAIT.sub(r"concat(\1)", text) for name, text in statements("kairos").items()
        }
        # The planner's settings: rows are looked up one by one in the order of the batch, whatever it thinks of the
        # size of the table.
        self.plans: Mapping[str, str] = {
            f"enable_{way}": "off" for way in ("hashjoin", "mergejoin", "seqscan")
        }
        self._url = url
        self._monitor = monitor
        self._idle: list[asyncpg.Connection] = []

    async def explore(
        self,
        prepare: Callable[[], Awaitable[Mapping[str, Session]]],
        check: Callable[[Outcome], Awaitable[None]],
    ) -> int:
        """Every order, each in a world that `prepare` makes and `check` judges; answers how many there were."""
        orders = 0
        prefix: list[int] = []
        while True:
            choices = await self._run(prefix, await prepare(), check)
            orders += 1
            while choices and choices[-1][0] == choices[-1][1] - 1:
                choices.pop()
            if not choices:
                return orders
            prefix = [taken for taken, _ in choices]
            prefix[-1] += 1

    async def _run(
        self, prefix: list[int], sessions: Mapping[str, Session], check: Callable[[Outcome], Awaitable[None]]
    ) -> list[tuple[int, int]]:
        outcome = Outcome()
        players = [
            Player(name, session, await self._connection(), gate)
            for gate, (name, session) in enumerate(sessions.items(), 7_000_000)
        ]
        choices: list[tuple[int, int]] = []
        try:
            for player in players:
                await player.advance(outcome)
            while not all(player.finished for player in players):
                ready = [
                    each for each in players if not each.finished and (each.statement is None or each.gated)
                ]
                if not ready:
                    raise Stuck("every session waits for another")
                taken = prefix[len(choices)] if len(choices) < len(prefix) else 0
                # Which of two that wait for the same lock gets it is Postgres's choice: there may be fewer now.
                choices.append((taken, max(len(ready), taken + 1)))
                player = ready[min(taken, len(ready) - 1)]
                while True:
                    await self._step(player, outcome)
                    for each in [player, *players]:  # what this one let go may let others on
                        await self._settle(each, outcome)
                    if player.finished or player.statement is not None or not player.goes_on:
                        break
            await check(outcome)
        except AssertionError as error:
            error.add_note(f"in the order: {outcome}")
            raise
        finally:
            await self._monitor.execute("select pg_advisory_unlock_all()")
            self._idle += [player.connection for player in players if await player.close()]
        return choices

    async def _step(self, player: Player, outcome: Outcome) -> None:
        if player.gated:
            outcome.trace.append(f"{player.name}: goes on")
            player.gated = False
            await self._monitor.execute("select pg_advisory_unlock($1)", player.gate)
            return
        effect, gated = player.store.effect
        outcome.trace.append(f"{player.name}: {effect.name if isinstance(effect, Query) else effect}")
        if effect == "die":
            await self._monitor.execute("select pg_terminate_backend($1, 5000)", player.pid)
            player.finished = player.dead = True
            return
        if gated:
            player.gated = True
            await player.connection.execute(f"set kairos.gate = '{player.gate}'")
            await self._monitor.execute("select pg_advisory_lock($1)", player.gate)
        player.statement = asyncio.ensure_future(self._send(player, effect))

    async def _send(self, player: Player, effect: Query | str) -> Sequence[Row]:
        if isinstance(effect, str):
            await player.connection.execute(effect)
            return []
        if not player.connection.is_in_transaction():
            await player.connection.execute("begin")
        return await player.connection.fetch(self.sql[effect.name], *effect.params)

    async def _settle(self, player: Player, outcome: Outcome) -> None:
        """Wait until the session's statement is through, or waits for someone."""
        statement = player.statement
        if statement is None:
            return
        deadline = asyncio.get_running_loop().time() + _TIMEOUT
        while not (await asyncio.wait([statement], timeout=0.004))[0]:
            if await self._monitor.fetchval(_WAITS, player.pid):
                return
            assert asyncio.get_running_loop().time() < deadline, f"{player.name} neither ends nor waits"
        player.statement = None
        if player.gated:  # it never asked for the time
            player.gated = False
            await self._monitor.execute("select pg_advisory_unlock($1)", player.gate)
        if statement.exception() is None and player.store.effect[1]:
            await player.connection.execute("set kairos.gate = ''")
        player.store.answer(statement)
        await player.advance(outcome)

    async def _connection(self) -> asyncpg.Connection:
        return (
            self._idle.pop()
            if self._idle
            else await asyncpg.connect(self._url, server_settings=dict(self.plans))
        )

    async def close(self) -> None:
        for connection in [*self._idle, self._monitor]:
            await connection.close()


@asynccontextmanager
async def explorer(url: str) -> AsyncIterator[Explorer]:
    monitor = await asyncpg.connect(url)
    await monitor.execute(_INSTALL_GATE)
    made = Explorer(url, monitor)
    try:
        yield made
    finally:
        await made.close()
