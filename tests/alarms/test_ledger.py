"""The ledger: accepted = live + ended + purged, exact in every snapshot, and loud when it does not balance."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import asyncpg
import pytest
from tests.alarms.checking import Watched
from tests.engine_statements import call, done

from kairos.shapes.alarm import Alarm

BOOK = "select coalesce(sum(accepted), 0), coalesce(sum(removed), 0) from kairos.job_ledger"


async def book(watched: Watched) -> tuple[int, int]:
    accepted, removed = (await watched.fetch(BOOK))[0]
    return int(accepted), int(removed)


async def off(watched: Watched) -> list[Alarm]:
    await watched.check()
    return [alarm for (kind, _), alarm in (await watched.open()).items() if kind == "ledger_unbalanced"]


async def test_every_way_in_and_out_is_booked(watched: Watched) -> None:
    await watched.enqueue_many(*({} for _ in range(5)))
    await watched.enqueue_many({"unique": "u"}, {"unique": "u"})  # one of them is taken
    await watched.enqueue_many(*({"unique": "u"} for _ in range(3)))  # nothing is inserted
    hand = watched.worker()
    await hand.run()
    await watched.app.retry(1 + await watched.value("select min(id) from kairos.gen_durable"))
    watched.app.job(name="report")(lambda: None)
    await watched.app.schedules.add("hourly", "every hour", watched.app.action("report").call())
    await watched.app.schedules.trigger("hourly")
    await watched.at(watched.start + timedelta(hours=2))
    await watched.sweep()
    accepted = await watched.value("select count(*) from kairos.gen_durable")
    assert accepted > 8
    assert await book(watched) == (accepted, 0)
    assert await off(watched) == []
    purged = (await watched.run("purge_jobs", timedelta(0), 3, None))[0]["jobs"]
    assert await book(watched) == (accepted, purged)
    assert await off(watched) == []


async def test_what_was_rolled_back_was_never_accepted(watched: Watched) -> None:
    with pytest.raises(ZeroDivisionError):
        async with watched.store.transaction() as connection:
            await watched.app.on(connection).enqueue(call())
            raise ZeroDivisionError
    await watched.enqueue()
    assert await book(watched) == (1, 0)
    assert await off(watched) == []


async def test_folding_keeps_the_sums_also_while_others_write(watched: Watched) -> None:
    async def write() -> None:
        for _ in range(20):
            await watched.enqueue()

    async def fold() -> None:
        for _ in range(20):
            await watched.run("compact_job_ledger", 5)

    await asyncio.gather(write(), fold(), write())
    assert await book(watched) == (40, 0)
    assert await off(watched) == []
    assert await watched.value("select count(*) from kairos.job_ledger") == 1


async def lose(watched: Watched, *jobs: int) -> None:
    """Delete jobs that have not ended, as only the owner of the table can: by taking the guard away."""
    async with watched.store.transaction() as connection:
        await connection.execute("alter table kairos.gen_durable disable trigger gen_durable_kept")
        await connection.execute("delete from kairos.gen_durable where id = any ($1)", jobs)
        await connection.execute("alter table kairos.gen_durable enable trigger gen_durable_kept")


async def test_jobs_deleted_by_hand_are_an_alarm_until_somebody_writes_them_off(watched: Watched) -> None:
    jobs = [await watched.enqueue() for _ in range(5)]
    await lose(watched, *jobs[:2])
    (alarm,) = await off(watched)
    assert (alarm.subject, alarm.count) == ("removed", 2)
    assert "2 jobs left the table, and retention removed 0" in alarm.cause
    assert await off(watched) == [alarm]
    await watched.acknowledge(alarm)
    assert await off(watched) == []
    await lose(watched, jobs[2])
    (again,) = await off(watched)
    assert (again.id != alarm.id, again.count) == (True, 1)


async def test_an_alarm_whose_write_off_fails_is_not_acknowledged_either(watched: Watched) -> None:
    job = await watched.enqueue()
    await lose(watched, job)
    (alarm,) = await off(watched)
    await watched.fetch(
        "alter table kairos.job_ledger add constraint full_disk check (written_off = 0) not valid"
    )
    with pytest.raises(asyncpg.CheckViolationError):
        await watched.acknowledge(alarm)
    (still,) = await off(watched)
    assert still.acknowledged_at is None
    await watched.fetch("alter table kairos.job_ledger drop constraint full_disk")
    assert (await watched.acknowledge(alarm)).acknowledged_by == "ann"
    assert await off(watched) == []


async def test_two_who_acknowledge_at_once_write_off_once(watched: Watched) -> None:
    job = await watched.enqueue()
    await lose(watched, job)
    (alarm,) = await off(watched)
    await asyncio.gather(*(watched.acknowledge(alarm, by=f"p{number}") for number in range(8)))
    assert await off(watched) == []
    assert await watched.value("select sum(written_off) from kairos.job_ledger") == 1


@pytest.mark.parametrize("change", ["delete", "insert"])
async def test_jobs_that_come_and_go_without_a_trace_are_an_alarm(watched: Watched, change: str) -> None:
    """As a broken backup, or a replica that applied half of it: no trigger saw them."""
    job = await watched.enqueue()
    async with watched.store.transaction() as connection:
        await connection.execute("set local session_replication_role = replica")
        if change == "delete":
            await connection.execute("delete from kairos.gen_durable where id = $1", job)
        else:
            await connection.execute(
                """insert into kairos.gen_durable (fsm, step, eligible_at, inserted_at, updated_at)
                   values ('act', 'run', now(), now(), now())"""
            )
    (alarm,) = await off(watched)
    assert (alarm.subject, alarm.count) == ("accepted", 1)
    await watched.acknowledge(alarm)
    assert await off(watched) == []
    hand = watched.worker()
    await hand.commit(*map(done, await hand.pick()))
    await watched.run("purge_jobs", timedelta(0), 10, None)
    assert await off(watched) == []


async def test_too_many_jobs_are_counted_only_when_a_person_asks(watched: Watched) -> None:
    await watched.enqueue_many(*({} for _ in range(20)))
    await watched.fetch("analyze kairos.gen_durable")
    async with watched.store.transaction() as connection:
        await connection.execute("set local session_replication_role = replica")
        await connection.execute("delete from kairos.gen_durable")
    assert await watched.run("check_job_ledger", 19) == []
    assert len(await watched.run("check_job_ledger", 20)) == 1
