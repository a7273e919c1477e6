"""An error that belongs to one job ends that job, by name, and never a worker."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
from tests.captured_logs import capture_logs
from tests.engine_statements import Hand, Rig
from tests.worker.world import ended, fetch, until, verbs

from kairos import Kairos
from kairos.alarms.thresholds import Thresholds
from kairos.worker.alarm_loop import run_checks
from kairos.worker.frozen_sessions import FrozenSessions
from kairos.worker.keeper import Keeper
from kairos.worker.keeper_process import KeeperProcess
from kairos.worker.leases import Leases
from kairos.worker.sweeper import Sweeper

READABLE = """create function public.readable(state jsonb, job bigint, broken bigint) returns text language plpgsql
as $$ begin if job = broken then raise data_corrupted; end if; return state; end $$"""


@pytest.fixture
def database(kairos_database: str) -> str:
    """A database of each test's own: some tests here change its tables."""
    return kairos_database


async def spoil(app: Kairos, job: int) -> None:
    """As if the stored state of a job were damaged: whoever reads it gets an error."""
    await fetch(app, READABLE)
    spoiled = {}
    # The picks from bounds too: on a slow machine a worker uses them.
    for name, row in (
        ("pick_jobs", "c"),
        ("pick_jobs_from", "c"),
        ("pick_keyed", "c"),
        ("read_picked_job", "g"),
    ):
        assert f"{row}.state::text" in app.store.sql[name]
        spoiled[name] = app.store.sql[name].replace(
            f"{row}.state::text", f"public.readable({row}.state, {row}.id, {job})"
        )
    app.store.sql = {**app.store.sql, **spoiled}


@pytest.mark.parametrize("key", [None, "one line", "each"])
@pytest.mark.parametrize("limited", [False, True])
async def test_a_job_that_cannot_be_read_is_set_aside_and_the_others_of_its_queue_run(app, key, limited):
    @app.job
    async def run(number: int) -> int:
        return number

    async with app:
        jobs = []
        for number in range(8):
            own = f"{key} {number}" if key == "each" else key
            jobs.append(await run.options(key=own).enqueue(number=number))
        if limited:
            await app.limit("default", concurrency=2)
        await spoil(app, jobs[3].id)
        async with app.worker(poll=0.1, grace=5):
            found = [await ended(app, job.id) for job in jobs]
        assert [job.state for job in found] == ["success"] * 3 + ["failed"] + ["success"] * 4
        assert found[3].error_code == "JOB_SET_ASIDE"
        assert "its row cannot be read: DataCorruptedError" in found[3].error
        assert await verbs(app, jobs[3].id) == ["stop"]
        await run_checks(app.store, Thresholds(), report=False)
        (alarm,) = [each for each in await app.alarms() if each.kind == "jobs_failed"]
        assert f"job {jobs[3].id}: JobSetAside" in alarm.cause


async def test_a_job_whose_outcome_cannot_be_stored_is_set_aside_and_the_others_are_committed(app):
    @app.job
    async def run(number: int) -> int:
        return number

    async with app:
        jobs = [await run.enqueue(number=number) for number in range(5)]
        await fetch(app, READABLE)
        spoiled = f"public.readable(o.result::jsonb, g.id, {jobs[1].id})::jsonb"
        text = app.store.sql["finish_jobs"].replace("o.result::jsonb", spoiled)
        app.store.sql = {**app.store.sql, "finish_jobs": text}
        async with app.worker(poll=0.1, grace=5):
            found = [await ended(app, job.id) for job in jobs]
        assert [job.state for job in found] == ["success", "failed", "success", "success", "success"]
        assert found[1].error_code == "JOB_SET_ASIDE"
        assert "its outcome cannot be stored: DataCorruptedError" in found[1].error


async def test_a_pick_that_fails_for_another_reason_sets_no_job_aside(app):
    @app.job
    async def run() -> str:
        return "ran"

    async with app:
        await fetch(app, READABLE)
        job = await run.enqueue()
        sound = app.store.sql
        broken = sound["pick_jobs"].replace("c.state::text", "public.readable(c.state, 1, 1)")
        app.store.sql = {**sound, "pick_jobs": broken}
        async with app.worker(poll=0.1, grace=5):
            await until(lambda: _verbs_are(app, job.id, ["release"]), "the job given back")
            app.store.sql.update(sound)  # the worker's store has the same statements
            assert (await ended(app, job.id)).output == "ran"


async def _verbs_are(app: Kairos, job: int, expected: list[str]) -> bool:
    return await verbs(app, job) == expected


async def test_a_statement_that_postgres_refuses_ends_no_loop(app):
    @app.job
    async def run() -> str:
        return "ran"

    async with app:
        sound = app.store.sql
        app.store.sql = {**sound, "next_deadlines": "select 1 / 0 as reap"}
        async with app.worker(poll=0.1, grace=5):
            assert await app.result((await run.enqueue()).id, timeout=30) == "ran"
            app.store.sql.update(sound)  # the worker's store has the same statements
            job = await run.options(delay=3600, ttl="1ms").enqueue()
            await fetch(
                app,
                "update kairos.gen_durable set eligible_at = now(), expires_at = now(), queue = 'nobody' where id = $1",
                job.id,
            )
            assert (await ended(app, job.id)).state == "expired"


async def test_a_sweep_that_postgres_refuses_does_not_keep_frozen_sessions_alive(app, monkeypatch):
    looked = 0

    async def end(frozen: FrozenSessions) -> None:
        nonlocal looked
        looked += 1

    @app.job
    async def run() -> None: ...

    monkeypatch.setattr(FrozenSessions, "end", end)
    async with app:
        app.store.sql = {
            **app.store.sql,
            "reap_jobs": "select 1 / 0, $1::int, $2::text, $3::text, $4::bigint, $5::bigint[]",
            "expired_leases": "select 1 / 0, $1::int, $2::bigint[]",
        }
        lost = await run.enqueue()
        await Hand(app.store, "gone").pick()
        await Rig(app.store).let_leases_expire(lost.id)
        with pytest.raises(asyncpg.DivisionByZeroError):
            await Sweeper(app.store, "w").tick()
        assert looked == 1


async def test_a_sweep_that_postgres_refuses_does_not_stop_the_others(app):
    @app.job
    async def run() -> None: ...

    async with app:
        app.store.sql = {
            **app.store.sql,
            "reap_jobs": "select 1 / 0, $1::int, $2::text, $3::text, $4::bigint, $5::bigint[]",
            "expired_leases": "select 1 / 0, $1::int, $2::bigint[]",
        }
        lost = await run.enqueue()
        (claim,) = await Hand(app.store, "gone").pick()
        assert claim.id == lost.id
        await Rig(app.store).let_leases_expire(lost.id)
        job = await run.options(delay=3600, ttl="1ms").enqueue()
        await fetch(
            app,
            "update kairos.gen_durable set eligible_at = now(), expires_at = now(), queue = 'nobody' where id = $1",
            job.id,
        )
        with pytest.raises(asyncpg.DivisionByZeroError):
            await Sweeper(app.store, "w").tick()
        assert [(await app.get(each.id)).state for each in (job, lost)] == ["expired", "running"]


REFUSE = """
create function public.refuse() returns trigger language plpgsql as $$ begin
  if new.id = any (tg_argv[0]::bigint[]) then raise 'no change of job %', new.id; end if;
  return new;
end $$;
create trigger refuse before update on kairos.gen_durable for each row
  when ({when}) execute function public.refuse('{jobs}')
"""


async def refuse_changes(app: Kairos, when: str, *jobs: int) -> None:
    """As a trigger or a constraint of the database's owner would."""
    async with app.store.connection() as connection:
        named = REFUSE.replace("{jobs}", f"{{{','.join(map(str, jobs))}}}")
        await connection.execute(named.replace("{when}", when))


async def refuse_reaps(app: Kairos, *jobs: int) -> None:
    await refuse_changes(app, "old.status = 'executing' and new.status <> 'executing'", *jobs)


async def test_jobs_whose_reap_postgres_refuses_are_left_alone_by_name_and_the_others_are_reaped(app):
    @app.job
    async def run() -> None: ...

    async with app:
        jobs = [(await run.enqueue()).id for _ in range(3)]
        await Hand(app.store, "gone").pick()
        await Rig(app.store).let_leases_expire(*jobs)
        await refuse_reaps(app, jobs[0])
        sweeper = Sweeper(app.store, "w")
        with capture_logs() as logs:
            await sweeper.tick()
        assert [(await app.get(job)).state for job in jobs] == ["running", "pending", "pending"]
        (line,) = (line for line in logs if line["event"] == "the reap of a job is refused")
        assert line["job"] == jobs[0] and f"no change of job {jobs[0]}" in line["error"]
        # Those that are lost later are not held up by it either.
        await Hand(app.store, "gone").pick()
        await Rig(app.store).let_leases_expire(*jobs[1:])
        with capture_logs() as logs:
            await sweeper.tick()
        assert [(await app.get(job)).state for job in jobs] == ["running", "pending", "pending"]
        assert not [line for line in logs if line["event"] == "the reap of a job is refused"]
        await fetch(app, "drop trigger refuse on kairos.gen_durable")
        await Sweeper(app.store, "w").tick()
        assert (await app.get(jobs[0])).state == "pending"


SWEPT = {
    "expire": ("expires_at = now()", "expired", "the expiry of a job is refused"),
    "timeout": (
        "status = 'awaiting_signal', awaits = '{go}', await_until = now()",
        "pending",
        "the timeout of an await is refused",
    ),
}


@pytest.mark.parametrize(("change", "after", "complaint"), SWEPT.values(), ids=SWEPT)
async def test_a_job_whose_sweep_postgres_refuses_is_left_alone_by_name_and_the_others_are_swept(
    app, change, after, complaint
):
    @app.job
    async def run() -> None: ...

    async with app:
        jobs = [(await run.options(delay=3600).enqueue()).id for _ in range(3)]
        if "awaits" in change:
            await fetch(app, "update kairos.gen_durable set eligible_at = now()")
            await Hand(app.store, "w").pick()
            change += ", locked_by = null, lease_expires_at = null"
        await fetch(app, f"update kairos.gen_durable set {change}")
        before = (await app.get(jobs[0])).state
        await refuse_changes(app, "old.status <> new.status", jobs[0])
        sweeper = Sweeper(app.store, "w")
        for _ in range(2):
            with capture_logs() as logs:
                assert await sweeper.tick() > 1
            assert [(await app.get(job)).state for job in jobs] == [before, after, after]
            named = [line["job"] for line in logs if line["event"] == complaint]
            assert named == ([jobs[0]] if _ == 0 else [])
        await fetch(app, "drop trigger refuse on kairos.gen_durable")
        await Sweeper(app.store, "w").tick()
        assert (await app.get(jobs[0])).state == after


async def test_a_key_that_postgres_refuses_to_open_is_left_alone_and_the_others_are_opened(app):
    @app.job
    async def run() -> None: ...

    async with app:
        # Two jobs of each key: the first is picked and expires from under its worker, the second is held behind it.
        jobs = [[(await run.options(key=key).enqueue()).id for _ in range(2)] for key in "abc"]
        held = [second for _, second in jobs]
        await fetch(app, "update kairos.gen_durable set held = true where id = any ($1)", held)
        await fetch(app, "update kairos.gen_durable set expires_at = now() where id <> all ($1)", held)
        await refuse_changes(app, "old.held and not new.held", held[0])
        sweeper = Sweeper(app.store, "w")
        with capture_logs() as logs:
            await sweeper.tick()
        still = await fetch(app, "select id from kairos.gen_durable where held")
        assert [row["id"] for row in still] == held[:1]
        named = {line["key"] for line in logs if line["event"] == "Postgres refuses to open a key"}
        assert named == {"a"}
        # Keys that get stuck later are not held up by it either.
        await fetch(app, "update kairos.gen_durable set held = true where id = $1", held[1])
        await sweeper.tick()
        with capture_logs() as logs:
            await sweeper.tick()
        still = await fetch(app, "select id from kairos.gen_durable where held")
        assert [row["id"] for row in still] == held[:1]
        assert "Postgres refuses to open a key" not in {line["event"] for line in logs}


async def test_a_keeper_hands_back_the_jobs_beside_one_whose_reap_postgres_refuses(app):
    @app.job
    async def run() -> None: ...

    async with app:
        jobs = [(await run.enqueue()).id for _ in range(4)]
        leases = Leases(8)
        for claim in await Hand(app.store, "gone").pick():
            leases.hold(claim)
            if claim.id in jobs[:3]:
                leases.begin(claim)
        await refuse_reaps(app, jobs[0])
        process = KeeperProcess(app.store, "gone", leases, 1, lambda _: None, lambda _: None)
        await asyncio.to_thread(Keeper(process.config).hand_back)
        found = [await app.get(job) for job in jobs]
        assert [job.state for job in found] == ["running", "pending", "pending", "pending"]
        assert [await verbs(app, job) for job in jobs] == [[], ["reap"], ["reap"], ["release"]]
        leases.close()


async def test_a_tick_that_postgres_refuses_does_not_delay_the_next_one_of_another_schedule(app):
    @app.job
    async def run() -> None: ...

    async with app:
        await app.schedules.add("bad", "every hour", run.call(), catch_up="all")
        await app.schedules.add("good", "every hour", run.call())
        await fetch(app, REFUSE_TICK)
        await fetch(
            app,
            "create trigger refuse before insert on kairos.gen_durable for each row"
            " when (new.schedule = 'bad') execute function public.refuse()",
        )
        missed = "cursor_at = now() - interval '3 hours', next_tick_at = now() - interval '2 hours'"
        await fetch(app, f"update kairos.schedules set {missed} where name = 'bad'")
        soon = "update kairos.schedules set next_tick_at = now() + interval '1 second' where name = 'good'"
        await fetch(app, soon)
        with capture_logs() as logs:
            assert await Sweeper(app.store, "w", interval=3600).tick() <= 1
        assert "the ticks of a schedule are refused" in {line["event"] for line in logs}


REFUSE_TICK = """create function public.refuse() returns trigger language plpgsql
as $$ begin raise 'no tick'; end $$"""


async def test_a_worker_whose_tables_are_gone_stops_and_says_so(app):
    async with app:
        async with app.worker(poll=0.1, grace=1) as worker:
            await until(lambda: _is_listed(app, worker.name), "the worker listed")
            await fetch(app, "alter table kairos.workers rename to moved")
            with capture_logs() as logs:
                await worker.stop()
            await fetch(app, "alter table kairos.moved rename to workers")
        (line,) = (line for line in logs if "without removing its row" in line["event"])
        assert 'relation "kairos.workers" does not exist' in line["error"]
        assert logs[-1]["event"] == "worker stopped"


async def _is_listed(app: Kairos, name: str) -> bool:
    return name in {worker.id for worker in await app.workers()}
