"""Whatever is asked of the engine, in whatever order, it answers as the model does: hypothesis looks for the order.

`KAIROS_STATEFUL_EXAMPLES` says how many lives to try; a few dozen by default.
"""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.interleavings.laws import hold
from tests.rig import Hand, Rig, call, done, go, hand_back, park, replay, rig, stop
from tests.stateful.model import LEASE, SECOND, Job, Model

from kairos import verbs
from kairos.errors import Conflict, InvalidTransition
from kairos.fsm.lifecycle import Status, Verb
from kairos.testing import Clock
from kairos.worker.claim import Claim
from kairos.worker.flusher import open_keys

WORKERS, KEYS, NAMES = ("w1", "w2"), ("a", "b"), ("go", "stay")
FEW = 100
EXAMPLES = int(os.environ.get("KAIROS_STATEFUL_EXAMPLES", FEW))
SPANS = st.sampled_from([5 * SECOND, LEASE])
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
EMPTY = """
with past as (delete from kairos.history) delete from kairos.gen_durable;
update kairos.clock set frozen_at = timestamptz '2030-01-01Z', shift = '0'
"""
COMMIT: dict[str, Any] = {
    "place": st.integers(0, 20),
    "outcome": st.sampled_from(["done", "stop", "next", "ahead", "replay", "retry", "release", "park", "park"]),
    "delay": st.sampled_from([0, 5 * SECOND]),
    "names": st.sampled_from([("go",), NAMES]),
    "takes": st.booleans(),
    "then": st.sampled_from([None, "late"]),
    "zombie": st.sampled_from([False, False, True]),
}


class Engine(RuleBasedStateMachine):
    runner: ClassVar[asyncio.Runner]
    rig: ClassVar[Rig]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.claims: list[tuple[str, Claim]] = []  # the old ones too: zombies try again
        self.hands = {name: Hand(self.rig.store, name) for name in WORKERS}
        for statement in EMPTY.split(";"):
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

    # Clients

    @initialize(jobs=st.lists(st.tuples(st.sampled_from([None, *KEYS]), st.none() | SPANS), min_size=3, max_size=6))
    def begin(self, jobs):
        """A few jobs, some of them picked: what can happen to an empty table is soon known."""
        for key, ttl in jobs:
            self.enqueue(0, key, False, None, 0, ttl, 5)
        self.pick("w1", 100)

    @rule(
        priority=st.sampled_from([-1, 0, 0, 1]),
        key=st.sampled_from([None, None, *KEYS]),
        ordered=st.booleans(),
        unique=st.sampled_from([None, None, "u", "v"]),
        delay=st.sampled_from([0, 0, 5 * SECOND]),
        ttl=st.none() | SPANS,
        max_reaps=st.sampled_from([0, 5]),
    )
    def enqueue(self, priority, key, ordered, unique, delay, ttl, max_reaps):
        ordered = ordered and key is not None
        wanted = call(
            priority=priority,
            key=key,
            ordered=ordered,
            unique=unique,
            delay=delay / SECOND,
            ttl=None if ttl is None else ttl / SECOND,
            max_reaps=max_reaps,
        )
        (job,) = self.do(self.rig.ask(verbs.enqueue_many([wanted])))
        holder = self.model.holder(unique)
        assert job.is_new == (holder is None)
        if holder is not None:
            assert job.id == holder.id
            return
        eligible = self.model.now + delay
        expires = None if ttl is None else eligible + ttl
        self.model.jobs[job.id] = Job(job.id, priority, key, ordered, unique, eligible, expires, max_reaps)

    @precondition(lambda self: self.model.jobs)
    @rule(place=st.integers(0, 20), name=st.sampled_from(NAMES), dedup=st.sampled_from([None, None, "d"]))
    def signal(self, place, name, dedup):
        job = self.one(place)
        expected = self.model.signal(job, name, dedup)
        try:
            answer = self.do(self.rig.ask(verbs.signal(job.id, name, dedup_key=dedup)))
        except Conflict:
            answer = "finished"
        assert answer == expected
        if answer in ("woke", "delivered"):
            new = self.do(self.rig.run("read_signals", job.id))[-1]["id"]
            job.inbox[new] = name
            if job.status is Status.AWAITING_SIGNAL and name in job.awaits:
                job.shown |= {new}  # it came after the deadline: that is what will wake the job

    @precondition(lambda self: self.model.jobs)
    @rule(place=st.integers(0, 20))
    def cancel(self, place):
        job = self.one(place)
        if not job.is_live:
            with pytest.raises(InvalidTransition):
                self.do(self.rig.ask(verbs.cancel(job.id)))
            return
        self.do(self.rig.ask(verbs.cancel(job.id)))
        job.asked = True
        if job.status is not Status.EXECUTING:
            job.move(Status.CANCELLED)

    @precondition(lambda self: self.model.jobs)
    @rule(place=st.integers(0, 20))
    def run_now(self, place):
        job = self.one(place)
        if job.status is Status.RUNNABLE and job.eligible > self.model.now:
            self.do(self.rig.ask(verbs.run_now(job.id)))
            job.eligible = self.model.now
        else:
            with pytest.raises(InvalidTransition):
                self.do(self.rig.ask(verbs.run_now(job.id)))

    # Workers

    @rule(worker=st.sampled_from(["w1", *WORKERS]), room=st.sampled_from([1, 100]))
    def pick(self, worker, room):
        self.do(open_keys(self.rig.store, list(KEYS)))  # as the commits and the sweep would have, by now
        claims = self.do(self.hands[worker].pick(room=room))
        got, may = {claim.id for claim in claims}, self.model.claimable()
        assert got == may if room > 1 else (got <= may and len(got) <= 1)
        for claim in claims:
            job = self.model.jobs[claim.id]
            assert [signal.id for signal in claim.inbox] == sorted(job.inbox)
            self.model.picked(job, worker)
            self.claims.append((worker, claim))

    @precondition(lambda self: self.claims)
    @rule(**COMMIT)
    def commit(self, place, outcome, delay, names, takes, then, zombie):
        worker, claim = self.some_claim(place, zombie)
        job = self.model.jobs[claim.id]
        self.claims.append((worker, copy.copy(claim)))  # who will not know that it is over
        settlement = {
            "done": lambda: done(claim),
            "stop": lambda: stop(claim),
            "next": lambda: go(claim, "other"),
            "ahead": lambda: go(claim, "other", ahead=True),
            "replay": lambda: replay(claim, _span(delay)),
            "retry": lambda: replay(claim, _span(delay), Verb.RETRY),
            "release": lambda: hand_back(claim),
            "park": lambda: park(claim, *names, timeout=_span(delay) if delay else None, then=then),
        }[outcome]()
        shown = frozenset(signal.id for signal in claim.inbox)
        settlement.consumed = sorted(shown) if takes and outcome != "release" else []
        fresh = self.model.is_fresh(job, worker, claim.lease)
        assert self.do(self.hands[worker].commit(settlement)) == fresh
        if not fresh:
            return
        for signal in settlement.consumed:
            job.inbox.pop(signal, None)
        match outcome:
            case "done" | "stop":
                job.move(Status.DONE if outcome == "done" else Status.FAILED)
            case "park":
                self.model.park(job, names, shown, delay or None, then)
            case "next" | "ahead":
                self.model.go_on(job, "next", step="other", ahead=outcome == "ahead")
            case _:
                self.model.go_on(job, outcome, delay)

    @precondition(lambda self: self.claims)
    @rule(**COMMIT)
    def commit_more(self, **what):
        """The same: it is where most can go wrong."""
        self.commit(**what)

    @precondition(lambda self: self.claims)
    @rule(worker=st.sampled_from(WORKERS))
    def renew(self, worker):
        mine = {claim.id: claim.lease for name, claim in self.claims if name == worker}
        rows = self.do(self.rig.run("renew_leases", list(mine), list(mine.values()), _span(LEASE)))
        for row in rows:
            job = self.model.jobs[row["id"]]
            kept = job.status is Status.EXECUTING and job.lease == mine[job.id] and job.lease_until > self.model.now
            assert row["lost"] != kept
            if kept:
                job.lease_until = self.model.now + LEASE

    # The sweeper and the clock

    def sweep(self) -> None:
        for statement, params, expected in (
            ("reap_jobs", (100, None, "reaper"), self.model.reap),
            ("expire_jobs", (100,), self.model.expire),
            ("timeout_jobs", (100,), self.model.time_out),
        ):
            assert {row["id"] for row in self.do(self.rig.run(statement, *params))} == expected(), statement

    @precondition(lambda self: self.model.deadlines())
    @rule(place=st.integers(0, 20), by=st.sampled_from([0, -1, 1]))
    def advance(self, place, by):
        """To one of the instants that matter, or a microsecond to either side of it."""
        deadlines = self.model.deadlines()
        self.go_to(deadlines[place % len(deadlines)] + by)

    @precondition(lambda self: self.model.deadlines())
    @rule(place=st.integers(0, 20))
    def cross(self, place):
        """Past one of those instants, with a look on either side of it."""
        deadlines = self.model.deadlines()
        instant = deadlines[place % len(deadlines)]
        for by in (-1, 0, 1):
            self.go_to(instant + by)
            self.sweep()

    def go_to(self, instant: int) -> None:
        by, self.model.now = instant - self.model.now, instant
        self.do(self.rig.fetch("update kairos.clock set frozen_at = frozen_at + $1", _span(by)))

    # What always holds

    @invariant()
    def the_rows_are_as_the_model_says(self):
        rows = [tuple(row) for row in self.do(self.rig.fetch(SNAPSHOT))]
        assert rows == [job.snapshot() for job in self.model.jobs.values()]

    @invariant()
    def the_laws_hold(self):
        shown = [signal for job in self.model.jobs.values() for signal in job.shown]
        self.do(hold(self.rig, shown, sweep=False))


def _span(microseconds: int) -> timedelta:
    return timedelta(microseconds=microseconds)


@pytest.fixture
def engine(database: str) -> Iterator[type[Engine]]:
    with asyncio.Runner() as runner:
        opening = rig(database)
        Engine.runner, Engine.rig = runner, runner.run(opening.__aenter__())
        shim: Any = SimpleNamespace(store=Engine.rig.store, settings=Engine.rig.store.settings)
        runner.run(Clock(shim).install())
        runner.run(Engine.rig.fetch(SINCE))
        yield Engine
        runner.run(opening.__aexit__(None, None, None))


def test_no_order_of_requests_surprises_the_model(engine: type[Engine]) -> None:
    run_state_machine_as_test(
        engine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=50,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            # Shrinking takes minutes: ask for it, by the number of examples, where there is time.
            phases=tuple(Phase) if EXAMPLES > FEW else (Phase.explicit, Phase.reuse, Phase.generate),
        ),
    )
