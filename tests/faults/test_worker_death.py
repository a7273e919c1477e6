"""Workers killed, frozen and poisoned: what they held is handed on, and a zombie commits nothing."""

from __future__ import annotations

import os
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM

from tests.worker.world import ended, reaches, until, verbs

HOUR = 3600


async def test_a_killed_worker_has_its_jobs_handed_back_at_once_by_its_keeper(crew, app):
    victim = await crew.ready(lease=HOUR)  # so that nobody but the keeper can have done it
    jobs = [await app.action("wait_for").enqueue(name="never") for _ in range(3)]
    for job in jobs:
        await crew.inside(job.id)
    heir = await crew.ready(lease=HOUR)
    victim.kill()
    for job in jobs:
        assert (await ended(app, job.id)).output == 1
        reap, done = await app.history(job.id)
        assert (reap.verb, done.verb) == ("reap", "done")
        assert reap.actor == f"keeper of {reap.worker}" and reap.worker != done.worker
        assert crew.events("end", job=job.id, pid=heir.pid)
    assert [row.worker for row in [done]] == [
        each.id for each in await app.workers()
    ]  # the dead one is not listed


async def test_what_a_killed_worker_had_claimed_and_not_begun_does_not_count_against_the_jobs(crew, app):
    victim = await crew.ready(lease=HOUR, concurrency=1, ahead=10)
    jobs = [await app.action("wait_for").enqueue(name="never") for _ in range(4)]
    first = await until(lambda: crew.events("begin"))
    for job in jobs:
        await reaches(app, job.id, "running")
    victim.kill()
    for job in jobs:
        job = await reaches(app, job.id, "pending")
        begun = job.id == first[0]["job"]
        assert (job.attempt, job.reaps) == ((1, 1) if begun else (0, 0))
        assert await verbs(app, job.id) == ["reap" if begun else "release"]


async def test_a_keeper_outlives_the_signal_that_a_service_manager_sends_to_all(crew, app):
    victim = await crew.ready(lease=HOUR)
    job = await app.action("wait_for").enqueue(name="never")
    await crew.inside(job.id)
    (keeper,) = victim.keepers()
    os.kill(keeper, SIGTERM)
    victim.kill()
    await crew.ready(lease=HOUR)
    assert (await ended(app, job.id)).output == 1


async def test_a_worker_and_keeper_lost_together_are_noticed_by_another_worker_after_the_lease(crew, app):
    victim = await crew.ready(lease=1)
    job = await app.action("wait_for").enqueue(name="never")
    await crew.inside(job.id)
    victim.signal(SIGSTOP)  # or it would start another keeper
    for keeper in victim.keepers():
        os.kill(keeper, SIGKILL)
    victim.kill()
    heir = await crew.ready(lease=1)
    assert (await ended(app, job.id)).output == 1
    reap, done = await app.history(job.id)
    assert (reap.verb, done.verb) == ("reap", "done")
    assert reap.actor == f"reaper of {done.worker}"
    assert crew.events("end", job=job.id, pid=heir.pid)


async def test_a_step_that_holds_the_gil_past_its_lease_keeps_it(crew, app):
    for _ in range(2):  # one would take the job over from the other
        await crew.ready(lease=1.5)
    job = await app.action("hold_gil").enqueue(seconds=3)
    assert (await ended(app, job.id)).output == 0
    assert await verbs(app, job.id) == ["done"]
    assert len(crew.events("begin", job=job.id)) == 1


async def test_a_frozen_worker_loses_its_job_and_its_late_commit_is_refused(crew, app):
    frozen = await crew.ready(lease=1)
    job = await app.action("wait_for").enqueue(name="go")
    begun = await crew.inside(job.id)
    frozen.signal(SIGSTOP)
    heir = await crew.ready(lease=1)
    assert (await ended(app, job.id)).output == 1
    (crew.folder / "go").touch()
    frozen.signal(SIGCONT)
    await until(lambda: crew.events("end", job=job.id, pid=frozen.pid), "the zombie's end")
    await until(lambda: "stale commit refused" in crew.log or "lease lost while running" in crew.log)
    assert await verbs(app, job.id) == ["reap", "done"]
    assert (await app.get(job.id)).output == 1
    assert begun["pid"] == frozen.pid and crew.events("end", job=job.id, pid=heir.pid)
    # It goes on working.
    heir.kill()
    assert (await ended(app, (await app.action("sleep").enqueue(seconds=0)).id)).output == 0


async def test_a_killed_keeper_is_replaced_and_no_lease_is_lost(crew, app):
    worker, _ = await crew.ready(lease=2.5), await crew.ready(lease=2.5)
    jobs = [await app.action("sleep").enqueue(seconds=4) for _ in range(10)]
    for job in jobs:
        await reaches(app, job.id, "running")
    (first,) = worker.keepers()
    os.kill(first, SIGKILL)
    await until(lambda: worker.keepers() not in ([], [first]), "another keeper")
    for job in jobs:
        assert (await ended(app, job.id)).output == 0
        assert await verbs(app, job.id) == ["done"]


async def test_a_job_that_kills_its_workers_ends_failed_and_its_neighbours_finish(crew, app):
    neighbours = [await app.action("sleep").enqueue(seconds=0.3) for _ in range(6)]
    poison = await app.action("poison").options(priority=1).enqueue()
    crew.hire(lease=HOUR, concurrency=10)
    deaths = 0

    async def given_up() -> bool:
        nonlocal deaths
        if crew.hands[-1].code is not None:
            assert crew.hands[-1].code == -SIGKILL
            deaths += 1
            crew.hire(lease=HOUR, concurrency=10)
        return (await app.get(poison.id)).is_terminal

    await until(given_up)
    job = await app.get(poison.id)
    assert (job.state, job.error_code, job.reaps, deaths) == ("failed", "WORKER_LOST", 6, 6)
    assert "lost 6 times while running step run" in job.error
    assert [(await ended(app, each.id)).state for each in neighbours] == ["success"] * 6


async def test_a_stream_of_poison_jobs_fails_no_innocent_one(crew, app):
    """Each death is the work of a job that was never lost before, and the others were there every time."""
    innocent = [await app.action("sleep").options(max_reaps=1).enqueue(seconds=1) for _ in range(3)]
    poison = [await app.action("poison").options(max_reaps=1).enqueue()]
    crew.hire(lease=HOUR, concurrency=10)

    async def all_ended() -> bool:
        if crew.hands[-1].code is not None:
            if len(poison) < 6:
                poison.append(await app.action("poison").options(max_reaps=1).enqueue())
            crew.hire(lease=HOUR, concurrency=10)
        found = [await app.get(job.id) for job in (*innocent, *poison)]
        return all(job.is_terminal for job in found)

    await until(all_ended)
    assert [(await app.get(job.id)).state for job in innocent] == ["success"] * 3
    for job in poison:
        found = await app.get(job.id)
        assert (found.state, found.error_code) == ("failed", "WORKER_LOST")


async def test_a_machine_whose_worker_dies_between_steps_goes_on_with_the_step_it_had_come_to(crew, app):
    job = await app.action("ten").enqueue()
    crew.arm("step 4")
    crew.arm("step 7")
    for _ in range(3):
        crew.hire(lease=HOUR)
        await until(lambda: crew.hands[-1].code is not None or crew.events("begin", job=job.id, done=9))
    assert (await ended(app, job.id)).output == 9
    assert await verbs(app, job.id) == ["next"] * 4 + ["reap"] + ["next"] * 3 + ["reap"] + ["next"] * 2 + [
        "done"
    ]
    begun = [event["done"] for event in crew.events("begin", job=job.id)]
    assert begun == [
        0,
        1,
        2,
        3,
        4,
        4,
        5,
        6,
        7,
        7,
        8,
        9,
    ]  # at least once, and only what was not committed twice
    leases = [event["lease"] for event in crew.events("begin", job=job.id)]
    assert leases == sorted(set(leases))
