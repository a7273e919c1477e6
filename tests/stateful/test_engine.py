"""Whatever is asked of the engine, in whatever order, it answers as the model does: hypothesis looks for the order.

`KAIROS_STATEFUL_EXAMPLES` says how many lives to try; a hundred by default.
"""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.engine_statements import call, done, go, hand_back, park, replay, rig, stop
from tests.stateful.model import LEASE, SECOND, Job
from tests.stateful.world import SINCE, WORKERS, World, span

from kairos import operations
from kairos.errors import Conflict, InvalidTransition
from kairos.fsm.lifecycle import Status, Verb
from kairos.testing import Clock
from kairos.worker.commit import open_keys

KEYS, NAMES = ("a", "b"), ("go", "stay")
FEW = 100
EXAMPLES = int(os.environ.get("KAIROS_STATEFUL_EXAMPLES", FEW))
SPANS = st.sampled_from([5 * SECOND, LEASE])
COMMIT: dict[str, Any] = {
    "place": st.integers(0, 20),
    "outcome": st.sampled_from(
        ["done", "stop", "next", "ahead", "replay", "retry", "release", "park", "park"]
    ),
    "delay": st.sampled_from([0, 5 * SECOND]),
    "names": st.sampled_from([("go",), NAMES]),
    "takes": st.booleans(),
    "then": st.sampled_from([None, "late"]),
    "zombie": st.sampled_from([False, False, True]),
}


class Engine(World):
    # Clients

    @initialize(
        jobs=st.lists(st.tuples(st.sampled_from([None, *KEYS]), st.none() | SPANS), min_size=3, max_size=6)
    )
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
        (job,) = self.do(self.rig.ask(operations.enqueue_many([wanted])))
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
            answer = self.do(self.rig.ask(operations.signal(job.id, name, dedup_key=dedup)))
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
                self.do(self.rig.ask(operations.cancel(job.id)))
            return
        self.do(self.rig.ask(operations.cancel(job.id)))
        job.asked = True
        if job.status is not Status.EXECUTING:
            job.move(Status.CANCELLED)

    @precondition(lambda self: self.model.jobs)
    @rule(place=st.integers(0, 20))
    def run_now(self, place):
        job = self.one(place)
        if job.status is Status.RUNNABLE and job.eligible > self.model.now:
            self.do(self.rig.ask(operations.run_now(job.id)))
            job.eligible = self.model.now
        else:
            with pytest.raises(InvalidTransition):
                self.do(self.rig.ask(operations.run_now(job.id)))

    @precondition(lambda self: self.model.jobs)
    @rule(place=st.integers(0, 20), delay=st.integers(0, 5))
    def snooze(self, place, delay):
        job = self.one(place)
        until = self.model.now + delay * SECOND
        later = until > max(self.model.now, job.eligible) and (job.expires is None or until < job.expires)
        snoozed = operations.move("snooze", job.id, delay=span(delay * SECOND))
        if job.status is Status.RUNNABLE and later:
            self.do(self.rig.ask(snoozed))
            job.eligible = until
        else:
            with pytest.raises(InvalidTransition):
                self.do(self.rig.ask(snoozed))

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
            "replay": lambda: replay(claim, span(delay)),
            "retry": lambda: replay(claim, span(delay), Verb.RETRY),
            "release": lambda: hand_back(claim),
            "park": lambda: park(claim, *names, timeout=span(delay) if delay else None, then=then),
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
        rows = self.do(self.rig.run("renew_leases", list(mine), list(mine.values()), span(LEASE), worker))
        for row in rows:
            job = self.model.jobs[row["id"]]
            kept = job.status is Status.EXECUTING and job.lease == mine[job.id]
            assert row["lost"] != kept
            if kept:
                job.lease_until = self.model.now + LEASE

    # The sweeper and the clock

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
