"""Statements that take several rows: no order of any of them makes a circle of waiting.

In most of these a client holds one of the rows, so that the others stop in the middle of their statements.
"""

from __future__ import annotations

import pytest
from tests.engine_statements import done, park
from tests.interleavings.world import cancels, commits, delivers, picks, reaps, sends, session

from kairos.worker.ticker import Ticker

SET = "update kairos.gen_durable set {} where id = any ($1)"
STOP = {
    "expire_jobs": ("expires_at = now()", lambda mine, others: (len(mine), None, [])),
    "reap_jobs": ("lease_expires_at = now()", lambda mine, others: (len(mine), None, "reaper", None, [])),
    "release_unstarted": ("cancel_requested_at = now()", lambda mine, others: ("w2", others)),
}
FILLER = """
insert into kairos.gen_durable (fsm, step, eligible_at, inserted_at, updated_at)
select 'filler', 'run', now(), now(), now() from generate_series(1, 3000);
update kairos.gen_durable set status = 'cancelled', completed_at = now() where fsm = 'filler';
analyze kairos.gen_durable
"""


@pytest.fixture(autouse=True)
async def large_table(jobs):
    """Where the planner looks up the rows of a batch one by one, in the order of the batch."""
    for statement in FILLER.split(";"):
        await jobs.fetch(statement)


async def family(jobs, order, *, pick=True, **options):
    """Two parents under way at w1, and their children, whose ends they are told of; under way at w2."""
    mothers = [await jobs.enqueue() for _ in range(2)]
    parents = sorted(await jobs.worker("w1").pick(), key=lambda claim: claim.id)
    children = [await jobs.enqueue(reply_to=(mothers[mother], "ended"), **options) for mother in order]
    claims = {claim.id: claim for claim in await jobs.worker("w2").pick()} if pick else {}
    return parents, [claims.get(child, child) for child in children]


@pytest.mark.parametrize("held", [0, 1])
@pytest.mark.parametrize("outcome", [done, lambda claim: park(claim, "other")])
async def test_children_that_end_and_parents_that_settle_do_not_deadlock(jobs, every_order, outcome, held):
    async def prepare():
        parents, children = await family(jobs, [0, 1])
        return {
            "client": delivers(parents[held].id, "hello"),
            "parents": commits("w1", *map(outcome, parents[::-1] if held == 0 else parents)),
            "children": commits("w2", *map(done, reversed(children))),
        }

    async def check(result):
        assert (result.answers["parents"], result.answers["children"]) == (2, 2)

    assert await every_order(prepare, check) > 10


@pytest.mark.parametrize("statement", STOP)
async def test_children_ended_by_two_sweepers_do_not_deadlock(jobs, every_order, statement):
    """Each sweeper ends a child of either parent, in opposite orders."""
    change, params = STOP[statement]

    async def prepare():
        expires = statement == "expire_jobs"
        parents, children = await family(jobs, [0, 1, 1, 0], pick=not expires, max_reaps=0)
        prepare.children = ids = [getattr(child, "id", child) for child in children]
        await jobs.fetch(SET.format(change), ids)
        return {
            "client": delivers(parents[0].id, "hello"),
            "one": sends(statement, *params(ids[:2], ids[2:])),
            "other": sends(statement, *params(ids[2:], ids[:2])),
        }

    async def check(result):
        await jobs.run(statement, *params(prepare.children, []))  # what was left for the next sweep
        ended = {await jobs.status(child) for child in prepare.children}
        assert ended == {{"expire_jobs": "expired", "reap_jobs": "failed"}.get(statement, "cancelled")}

    assert await every_order(prepare, check) > 10


async def test_a_reaper_and_a_flusher_that_end_the_same_child_do_not_deadlock(jobs, every_order):
    async def prepare():
        parents, children = await family(jobs, [0, 1], max_reaps=0)
        await jobs.let_leases_expire(children[0].id)
        return {
            "client": delivers(parents[0].id, "hello"),
            "flusher": commits("w2", *map(done, children)),
            "reaper": reaps(),
        }

    async def check(result):
        assert result.answers["flusher"] + len(result.answers["reaper"]) == 2

    assert await every_order(prepare, check) > 10


async def test_a_client_that_cancels_a_child_does_not_deadlock_with_a_zombie_that_ran_it(jobs, every_order):
    async def prepare():
        parents, children = await family(jobs, [0, 0])
        await jobs.let_leases_expire(children[0].id)
        await jobs.run("reap_jobs", 10, None, "reaper", None, [])
        return {
            "signal": delivers(parents[0].id, "hello"),
            "client": cancels(children[0].id),
            "zombie": commits("w2", *map(done, reversed(children))),
        }

    async def check(result):
        assert result.answers["zombie"] == 1

    assert await every_order(prepare, check) > 10


async def test_progress_and_the_outcomes_of_the_same_steps_do_not_deadlock(jobs, every_order):
    async def prepare():
        ids = [await jobs.enqueue() for _ in range(2)]
        claims = sorted(await jobs.worker().pick(), key=lambda claim: claim.id)
        return {
            "client": delivers(ids[0], "hello"),
            "progress": sends("report_progress", ids, [1, 1], ["{}", "{}"], "w1"),
            "outcomes": commits("w1", *map(done, reversed(claims))),
        }

    async def check(result):
        assert result.answers["outcomes"] == 2

    assert await every_order(prepare, check) > 10


async def test_a_picker_never_waits_for_a_client(jobs, every_order):
    """A more urgent job of the key is on hold, and is being cancelled, while a picker meets the one behind it."""

    async def prepare():
        head = await jobs.enqueue(key="k", priority=-1)
        await jobs.enqueue(key="k")
        await jobs.fetch(SET.format("held = true"), [head])
        return {"client": delivers(head, "hello"), "picker": picks("w1")}

    async def check(result):
        if result.trace[0] == "client: deliver_signal":
            prepare.first.add(result.trace[-1])

    prepare.first = set()
    assert await every_order(prepare, check) > 3
    assert "client: commit" in prepare.first  # the picker was through before the client let go


SCHEDULES = """
insert into kairos.schedules (name, intent, sentence, tz, fsm, fsm_version, step, state, queue, overlap,
  cursor_at, next_tick_at, inserted_at, updated_at)
select name, 'every hour', 'every hour', 'UTC', 'act', 1, 'run', '{}', 'default', 'cancel',
  now() - interval '2 hours', now() - age, now(), now()
from (values ('first', interval '20 minutes'), ('second', interval '10 minutes')) as s (name, age)
"""


async def test_outcomes_and_a_cancel_of_the_same_jobs_do_not_deadlock(jobs, every_order):
    async def prepare():
        ids = [await jobs.enqueue() for _ in range(3)]
        first, second, third = sorted(await jobs.worker().pick(), key=lambda claim: claim.id)
        return {
            "holder": delivers(third.id, "hello"),
            "outcomes": commits("w1", *map(done, (second, third, first))),
            "client": sends("cancel_jobs", ids[:2], None, None),
        }

    async def check(result):
        assert result.answers["outcomes"] == 3

    assert await every_order(prepare, check) > 10


@pytest.mark.parametrize("backwards", [False, True])
async def test_a_ticker_and_the_outcomes_of_the_jobs_it_cancels_do_not_deadlock(jobs, every_order, backwards):
    """The schedule that is due first has the younger job."""

    async def prepare():
        await jobs.fetch("with past as (delete from kairos.ticks) delete from kairos.schedules")
        ids = [await jobs.enqueue() for _ in range(2)]
        claims = sorted(await jobs.worker().pick(), key=lambda claim: claim.id)
        await jobs.fetch(SCHEDULES)
        for job, name in zip(ids, ("second", "first"), strict=True):
            await jobs.fetch("update kairos.gen_durable set schedule = $2 where id = $1", job, name)
        return {
            "ticker": session(lambda store: Ticker(store).fire()),
            "outcomes": commits("w1", *map(done, claims[::-1] if backwards else claims)),
        }

    async def check(result):
        assert result.answers["outcomes"] == 2
        await jobs.fetch("delete from kairos.schedules")

    assert await every_order(prepare, check) > 10
