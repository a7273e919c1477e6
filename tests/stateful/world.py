"""A real engine and the model of it, side by side: what the rules of the stateful test stand on."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, ClassVar

from hypothesis.stateful import RuleBasedStateMachine, invariant
from tests.engine_statements import Hand, Rig
from tests.interleavings.laws import hold
from tests.shared_database import unguarded
from tests.stateful.model import Job, Model

from kairos.worker.claim import Claim

WORKERS = ("w1", "w2")
SNAPSHOT = """
select g.id, g.status::text, g.step, g.attempt, g.lease, g.locked_by, since(g.eligible_at), since(g.lease_expires_at),
  case when g.status = 'awaiting_signal' then g.awaits end,
  case when g.status = 'awaiting_signal' then since(g.await_until) end, g.cancel_requested_at is not null
from kairos.gen_durable g order by g.id
"""
SINCE = """
create or replace function since(at timestamptz) returns bigint language sql
  as $$ select (extract(epoch from at - timestamptz '2030-01-01Z') * 1000000)::bigint $$
"""
EMPTY = (
    unguarded(
        "delete from kairos.signals; delete from kairos.logs; delete from kairos.history;"
        "delete from kairos.gen_durable"
    ),
    "update kairos.clock set frozen_at = timestamptz '2030-01-01Z', shift = '0'",
)


class World(RuleBasedStateMachine):
    runner: ClassVar[asyncio.Runner]
    rig: ClassVar[Rig]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.claims: list[tuple[str, Claim]] = []  # the old ones too: zombies try again
        self.hands = {name: Hand(self.rig.store, name) for name in WORKERS}
        for statement in EMPTY:
            self.do(self.rig.fetch(statement))

    def do(self, work: Any) -> Any:
        return self.runner.run(work)

    def one(self, place: int) -> Job:
        jobs = list(self.model.jobs.values())
        return jobs[place % len(jobs)]

    def some_claim(self, place: int, zombie: bool) -> tuple[str, Claim]:
        """One that holds, if there is any; or for a zombie any there ever was."""
        fresh = [
            (worker, claim)
            for worker, claim in self.claims
            if self.model.is_fresh(self.model.jobs[claim.id], worker, claim.lease)
        ]
        among = fresh if fresh and not zombie else self.claims
        return among[place % len(among)]

    def sweep(self) -> None:
        for statement, params, expected in (
            ("reap_jobs", (100, None, "reaper", None, []), self.model.reap),
            ("expire_jobs", (100, None, []), self.model.expire),
            ("timeout_jobs", (100, None, []), self.model.time_out),
        ):
            assert {row["id"] for row in self.do(self.rig.run(statement, *params))} == expected(), statement

    def go_to(self, instant: int) -> None:
        by, self.model.now = instant - self.model.now, instant
        self.do(self.rig.fetch("update kairos.clock set frozen_at = frozen_at + $1", span(by)))

    # What always holds

    @invariant()
    def the_rows_are_as_the_model_says(self):
        rows = [tuple(row) for row in self.do(self.rig.fetch(SNAPSHOT))]
        assert rows == [job.snapshot() for job in self.model.jobs.values()]

    @invariant()
    def the_laws_hold(self):
        shown = [signal for job in self.model.jobs.values() for signal in job.shown]
        self.do(hold(self.rig, shown, sweep=False))


def span(microseconds: int) -> timedelta:
    return timedelta(microseconds=microseconds)
