"""Each kind of alarm: raised once when its cause is there, at its boundary, and cleared when the cause is gone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.alarms.checking import MINUTE, Watched
from tests.boundaries.frozen_time import SECOND, US, around
from tests.engine_statements import done, park, replay, stop

from kairos.alarms.kinds import KINDS
from kairos.alarms.thresholds import Thresholds
from kairos.errors import ConfigError
from kairos.fsm.lifecycle import Verb
from kairos.worker.sweeper import Sweeper
from kairos.worker.ticker import Ticker


async def test_with_nothing_wrong_there_is_no_alarm(watched: Watched) -> None:
    hand = watched.worker()
    await watched.present()
    await watched.enqueue()
    await watched.enqueue(delay=3600)
    await hand.commit(*map(done, await hand.pick()))
    seen = await watched.check()
    assert (seen.raised, seen.cleared) == ([], [])


async def test_failed_jobs_are_one_alarm_by_action_counted_each_once(watched: Watched) -> None:
    hand = watched.worker()
    for _ in range(3):
        await watched.enqueue()
    *_, last = claims = await hand.pick()
    await hand.commit(stop(claims[0], "first"))
    alarm = await watched.raised("jobs_failed", "act")
    assert alarm is not None
    assert (alarm.count, alarm.severity, alarm.first_at) == (1, "error", watched.start)
    assert alarm.cause == f"1 job of act failed; the last was job {claims[0].id}: first."
    await watched.at(watched.start + SECOND)
    await hand.commit(*(stop(claim, "again") for claim in claims[1:]))
    again = await watched.raised("jobs_failed", "act")
    assert again is not None
    assert (again.id, again.count, again.last_at) == (alarm.id, 3, watched.start + SECOND)
    assert f"job {last.id}" in again.cause
    await watched.check()
    assert (await watched.open())["jobs_failed", "act"].count == 3


async def test_a_failure_that_was_seen_clears_and_the_next_is_a_new_alarm(watched: Watched) -> None:
    hand = watched.worker()
    for _ in range(2):
        await watched.enqueue()
    first, second = await hand.pick()
    await hand.commit(stop(first))
    alarm = await watched.raised("jobs_failed", "act")
    assert alarm is not None
    assert (await watched.acknowledge(alarm, by="ann")).acknowledged_by == "ann"
    assert (await watched.acknowledge(alarm, by="bob")).acknowledged_by == "ann"
    assert [each.id for each in (await watched.check()).cleared] == [alarm.id]
    await watched.at(watched.start + SECOND)
    await hand.commit(stop(second))
    new = await watched.raised("jobs_failed", "act")
    assert new is not None
    assert (new.id != alarm.id, new.count) == (True, 1)


@around
async def test_a_failure_nobody_saw_clears_after_a_quiet_day(watched: Watched, offset: timedelta) -> None:
    hand = watched.worker()
    await watched.enqueue()
    await hand.commit(*map(stop, await hand.pick()))
    assert await watched.raised("jobs_failed", "act")
    await watched.at(watched.start + timedelta(days=1) + offset)
    assert (await watched.raised("jobs_failed", "act") is None) == (offset >= 0 * US)


async def test_a_retry_and_a_cancel_are_no_failures(watched: Watched) -> None:
    hand = watched.worker()
    await watched.enqueue()
    (claim,) = await hand.pick()
    await hand.commit(replay(claim, delay=MINUTE, verb=Verb.RETRY))
    await watched.app.cancel(claim.id)
    assert (await watched.check()).raised == []


async def test_expired_jobs_are_an_alarm(watched: Watched) -> None:
    await watched.present()
    await watched.enqueue(ttl=1)
    await watched.at(watched.start + SECOND)
    await watched.sweep()
    alarm = await watched.raised("jobs_expired", "act")
    assert alarm is not None
    assert alarm.count == 1


@around
async def test_a_job_is_overdue_five_minutes_after_its_time(watched: Watched, offset: timedelta) -> None:
    await watched.enqueue()
    await watched.at(watched.start + 5 * MINUTE + offset)
    await watched.present()
    alarm = await watched.raised("jobs_overdue", "default")
    assert (alarm is not None) == (offset >= 0 * US)
    if alarm is not None:
        assert alarm.count == 1
        hand = watched.worker()
        await hand.pick()
        assert [each.id for each in (await watched.check()).cleared] == [alarm.id]


async def test_the_count_of_overdue_jobs_is_over_all_priorities_and_bounded(watched: Watched) -> None:
    await watched.enqueue_many(*({"priority": n % 3} for n in range(9)), {"delay": 60})
    await watched.at(watched.start + 5 * MINUTE)
    await watched.present()
    alarm = await watched.raised("jobs_overdue", "default")
    assert alarm is not None
    assert alarm.count == 9
    await watched.enqueue_many(*({"run_at": watched.start} for _ in range(1100)))
    alarm = await watched.raised("jobs_overdue", "default")
    assert alarm is not None
    assert (alarm.count, alarm.cause.startswith("1000 or more jobs in queue default")) == (1000, True)


async def test_what_is_paused_or_behind_its_key_or_expired_is_not_overdue(watched: Watched) -> None:
    hand = watched.worker()
    await watched.enqueue(key="k")
    await hand.pick()
    await watched.enqueue(key="k")
    await hand.pick()  # met behind the first, and on hold since
    await watched.enqueue(queue="stopped")
    await watched.app.pause("stopped")
    await watched.enqueue(ttl=1)
    await watched.at(watched.start + 30 * MINUTE)
    await watched.present(queues=["default", "stopped"])
    assert [alarm.kind for alarm in (await watched.check()).raised] == ["key_held_up"]


@around
async def test_a_queue_with_work_and_no_live_worker_is_an_alarm(watched: Watched, offset: timedelta) -> None:
    await watched.enqueue(queue="mail")
    await watched.at(watched.start + 30 * SECOND + offset)
    await watched.present(queues=["default"])
    alarm = await watched.raised("queue_unserved", "mail")
    assert (alarm is not None) == (offset >= 0 * US)
    if alarm is not None:
        await watched.present("w2", queues=["mail"])
        assert await watched.raised("queue_unserved", "mail") is None


@around
async def test_a_worker_is_taken_for_gone_after_three_beats(watched: Watched, offset: timedelta) -> None:
    await watched.present()
    await watched.enqueue()
    await watched.at(watched.start + 30 * SECOND + offset)
    gone = await watched.raised("queue_unserved", "default") is not None
    assert gone == (offset >= 0 * US)


async def test_a_worker_that_is_stopping_serves_no_queue(watched: Watched) -> None:
    await watched.enqueue()
    await watched.at(watched.start + MINUTE)
    await watched.present()
    assert await watched.raised("queue_unserved", "default") is None
    await watched.present(stopping=True)
    assert await watched.raised("queue_unserved", "default")


async def test_an_action_that_only_a_worker_without_it_was_given_is_an_alarm(watched: Watched) -> None:
    await watched.present(unknown=["order@2"])
    alarm = await watched.raised("action_unknown", "order@2")
    assert alarm is not None
    assert alarm.cause == "No live worker knows order@2: worker w1 was given one."
    await watched.present("w2", machines=["order@1"], actions=["order"])
    assert await watched.raised("action_unknown", "order@2")
    await watched.present("w3", machines=["order@2"])
    assert await watched.raised("action_unknown", "order@2") is None


async def test_a_worker_of_an_older_kairos_tells_only_the_names_of_what_it_knows(watched: Watched) -> None:
    await watched.present(unknown=["order@2"])
    await watched.present("old", machines=[], actions=["order"])
    assert await watched.raised("action_unknown", "order@2") is None


async def test_a_schedule_whose_action_no_live_worker_knows_is_an_alarm_before_it_fires(
    watched: Watched,
) -> None:
    watched.app.job(name="report")(lambda: None)
    await watched.app.schedules.add("nightly", "every day at 03:00", watched.app.action("report").call())
    # Nobody is there: that is another alarm.
    assert await watched.raised("action_unknown", "report@1") is None
    await watched.present()
    assert await watched.raised("action_unknown", "report@1")
    await watched.present("w2", machines=["report@1"])
    assert await watched.raised("action_unknown", "report@1") is None


@around
@pytest.mark.parametrize(
    ("setting", "norm"),
    [
        (None, timedelta(days=1)),
        ("jobs_waiting=2h", timedelta(hours=2)),
        ("jobs_waiting.act=3d", timedelta(days=3)),
    ],
    ids=["default", "for all", "for its action"],
)
async def test_a_job_that_waits_longer_than_is_normal_is_an_alarm(
    watched: Watched, offset: timedelta, setting: str | None, norm: timedelta
) -> None:
    watched.thresholds = Thresholds.of(setting)
    hand = watched.worker()
    for _ in range(2):
        await watched.enqueue()
    with_deadline, without = await hand.pick()
    await hand.commit(park(with_deadline, "paid", timeout=timedelta(days=30)), park(without, "paid"))
    await watched.at(watched.start + norm + offset)
    alarm = await watched.raised("jobs_waiting", "act")
    assert (alarm is not None) == (offset >= 0 * US)
    if alarm is not None:
        assert (alarm.count, f"job {without.id}" in alarm.cause) == (1, True)
        await watched.app.signal(without.id, "paid")
        assert await watched.raised("jobs_waiting", "act") is None


WAITING = """
insert into kairos.gen_durable (fsm, step, status, awaits, lease, started_at, eligible_at, inserted_at, updated_at)
select $1, 'run', 'awaiting_signal', '{paid}', 1, kairos.now(), kairos.now(), kairos.now(), kairos.now() - $2::interval
from generate_series(1, $3)
"""


async def wait(watched: Watched, action: str, since: timedelta, jobs: int) -> None:
    """Jobs that wait, without the steps that lead there: the guard is asleep as in a restore."""
    async with watched.store.transaction() as connection:
        await connection.execute("set local session_replication_role = replica")
        await connection.execute(WAITING, action, since, jobs)


async def test_a_long_wait_is_found_behind_any_number_of_waits_that_are_normal(watched: Watched) -> None:
    watched.thresholds = Thresholds.of("jobs_waiting.slow=90d")
    await wait(watched, "slow", timedelta(days=30), 10_001)
    await wait(watched, "quick", timedelta(days=2), 1)
    await wait(watched, "zealous", timedelta(days=2), 1)
    await watched.check()
    found = {
        subject: alarm.count
        for (kind, subject), alarm in (await watched.open()).items()
        if kind == "jobs_waiting"
    }
    assert found == {"quick": 1, "zealous": 1}


async def test_more_long_waits_than_are_counted_are_said_to_be_more(watched: Watched) -> None:
    await wait(watched, "slow", timedelta(days=30), 1_500)
    alarm = await watched.raised("jobs_waiting", "slow")
    assert alarm is not None
    assert alarm.cause.startswith("1000 or more jobs of slow waited without a deadline")


async def test_a_reaped_lease_is_an_alarm_and_a_poison_job_another(watched: Watched) -> None:
    hand = watched.worker("lost-worker")
    await watched.enqueue(max_reaps=1)
    (claim,) = await hand.pick()
    await watched.let_leases_expire(claim.id)
    await watched.sweep()
    alarm = await watched.raised("leases_reaped", "act")
    assert alarm is not None
    assert (alarm.count, "lost-worker" in alarm.cause) == (1, True)
    assert ("jobs_poisoned", "act") not in await watched.open()
    (claim,) = await hand.pick()
    await watched.run("mark_alone", claim.id, claim.lease, hand.name, True)
    await watched.let_leases_expire(claim.id)
    await watched.sweep()
    assert await watched.raised("jobs_poisoned", "act")
    found = await watched.open()
    assert found["leases_reaped", "act"].count == 2
    assert ("jobs_failed", "act") not in found


async def test_missed_ticks_are_an_alarm_and_those_skipped_by_policy_are_not(watched: Watched) -> None:
    watched.app.job(name="report")(lambda: None)
    call = watched.app.action("report").call()
    begin = watched.start.replace(minute=10)
    await watched.at(begin)
    await watched.app.schedules.add("hourly", "every hour", call, catch_up="none")
    await watched.app.schedules.add("lone", "every hour", call, overlap="skip")
    await watched.sweep()
    await watched.at(begin + timedelta(hours=3, minutes=30))
    await watched.sweep()
    alarm = await watched.raised("ticks_missed", "hourly")
    assert alarm is not None
    assert (alarm.count, "missed: no worker was there to fire it" in alarm.cause) == (3, True)
    lone = (await watched.open())["ticks_missed", "lone"]
    assert lone.count == 2  # the last stands for the two before it
    await watched.acknowledge(lone)
    next_hour = (await watched.clock.now()).replace(minute=0, second=1, microsecond=0) + timedelta(hours=1)
    await watched.at(next_hour)
    await watched.sweep()  # on time, and skipped: the job of the tick before is still there
    ticks = await watched.fetch(
        "select reason from kairos.ticks where schedule = 'lone' order by tick_at desc"
    )
    assert ticks[0]["reason"] == "the job of an earlier tick was still live"
    assert await watched.raised("ticks_missed", "lone") is None


@pytest.mark.parametrize(
    ("reason", "loud"),
    [
        ("no longer declared in code", True),
        ("its sentence cannot be read: no such word", True),
        ("we are on holiday", False),
        (None, False),
    ],
    ids=["orphaned", "unreadable", "with a reason", "without"],
)
async def test_a_schedule_that_kairos_paused_is_an_alarm_and_one_that_a_person_paused_is_not(
    watched: Watched, reason: str | None, loud: bool
) -> None:
    watched.app.job(name="report")(lambda: None)
    await watched.app.schedules.add("hourly", "every hour", watched.app.action("report").call())
    await watched.app.schedules.pause("hourly", reason)
    assert (await watched.raised("schedule_paused", "hourly") is not None) == loud
    await watched.app.schedules.resume("hourly")
    assert await watched.raised("schedule_paused", "hourly") is None


@around
async def test_a_schedule_that_no_worker_fires_for_three_minutes_is_an_alarm(
    watched: Watched, offset: timedelta
) -> None:
    watched.app.job(name="report")(lambda: None)
    await watched.present()
    made = await watched.app.schedules.add("hourly", "every hour", watched.app.action("report").call())
    assert made.next_tick_at is not None
    await watched.at(made.next_tick_at + 3 * MINUTE + offset)
    await watched.present()
    alarm = await watched.raised("schedule_overdue", "hourly")
    assert (alarm is not None) == (offset >= 0 * US)
    await Ticker(watched.store).fire()
    assert await watched.raised("schedule_overdue", "hourly") is None


async def test_a_schedule_whose_ticks_postgres_refuses_is_an_alarm_until_they_are_fired(
    watched: Watched,
) -> None:
    watched.app.job(name="report")(lambda: None)
    await watched.present()
    report = watched.app.action("report").call()
    made = await watched.app.schedules.add("hourly", "every hour", report, catch_up="all")
    assert made.next_tick_at is not None
    refuse = """
        create function public.refuse() returns trigger language plpgsql as $$ begin raise 'no job today'; end $$;
        create trigger refuse before insert on kairos.gen_durable for each row execute function public.refuse()"""
    async with watched.store.connection() as connection:
        await connection.execute(refuse)
    await watched.at(made.next_tick_at + 3 * MINUTE)
    await watched.present()
    await Ticker(watched.store).fire()
    alarm = await watched.raised("schedule_overdue", "hourly")
    assert alarm is not None and "the ticks of a schedule are refused" in alarm.remedy
    async with watched.store.connection() as connection:
        await connection.execute("drop trigger refuse on kairos.gen_durable")
    await Ticker(watched.store).fire()
    assert await watched.raised("schedule_overdue", "hourly") is None


@around
async def test_a_lease_that_no_worker_reaps_for_three_minutes_is_an_alarm(
    watched: Watched, offset: timedelta
) -> None:
    await watched.present()
    job = await watched.enqueue()
    await watched.worker().pick()
    (row,) = await watched.fetch("select lease_expires_at as at from kairos.gen_durable")
    await watched.at(row["at"] + 3 * MINUTE + offset)
    await watched.present()
    alarm = await watched.raised("leases_overdue", "act")
    assert (alarm is not None) == (offset >= 0 * US)
    assert alarm is None or f"is job {job}." in alarm.cause
    await Sweeper(watched.store, "w").tick()
    assert await watched.raised("leases_overdue", "act") is None


@around
async def test_after_a_downtime_a_worker_has_three_minutes_to_fire_a_schedule(
    watched: Watched, offset: timedelta
) -> None:
    watched.app.job(name="report")(lambda: None)
    made = await watched.app.schedules.add("hourly", "every hour", watched.app.action("report").call())
    assert made.next_tick_at is not None
    started = made.next_tick_at + 10 * MINUTE
    await watched.at(started)
    await watched.present()
    await watched.at(started + 3 * MINUTE + offset)
    await watched.present()
    assert (await watched.raised("schedule_overdue", "hourly") is not None) == (offset >= 0 * US)


async def test_stale_commits_are_counted_from_what_workers_tell(watched: Watched) -> None:
    await watched.present(stale=2)
    alarm = await watched.raised("commits_stale", "w1")
    assert alarm is not None
    assert alarm.count == 2
    await watched.present(stale=2)
    await watched.present(stale=5)
    alarm = await watched.raised("commits_stale", "w1")
    assert alarm is not None
    assert alarm.count == 5


@around
async def test_a_clock_five_seconds_off_is_an_alarm_by_host(watched: Watched, offset: timedelta) -> None:
    await watched.present("w1", skew=-(5 * SECOND + offset))
    await watched.present("w2", skew=timedelta(0))
    alarm = await watched.raised("clock_skewed", "box")
    assert (alarm is not None) == (offset >= 0 * US)
    await watched.present("w1", skew=timedelta(0))
    assert await watched.raised("clock_skewed", "box") is None


@around
async def test_a_worker_that_hears_nothing_for_half_a_minute_is_an_alarm(
    watched: Watched, offset: timedelta
) -> None:
    await watched.present(listening=False)
    await watched.at(watched.start + 30 * SECOND + offset)
    await watched.present(listening=False)
    assert (await watched.raised("listener_deaf", "w1") is not None) == (offset >= 0 * US)
    await watched.present(listening=True)
    assert await watched.raised("listener_deaf", "w1") is None


@around
async def test_a_worker_whose_commits_are_blocked_is_an_alarm_that_names_the_session(
    watched: Watched, offset: timedelta
) -> None:
    await watched.present(blocked_by="job 7 is locked by pid 12")
    await watched.at(watched.start + 10 * SECOND + offset)
    await watched.present(blocked_by="job 7 is locked by pid 12")
    alarm = await watched.raised("commits_blocked", "w1")
    assert (alarm is not None) == (offset >= 0 * US)
    if alarm is not None:
        assert alarm.cause.endswith("job 7 is locked by pid 12.")
    await watched.present()
    assert await watched.raised("commits_blocked", "w1") is None


@around
async def test_a_step_that_runs_for_an_hour_is_an_alarm(watched: Watched, offset: timedelta) -> None:
    hand, job = watched.worker(), await watched.enqueue()
    (claim,) = await hand.pick()
    await watched.at(watched.start + 60 * MINUTE + offset)
    alarm = await watched.raised("jobs_running_long", "act")
    assert (alarm is not None) == (offset >= 0 * US)
    if alarm is not None:
        assert (alarm.count, f"is job {job}" in alarm.cause) == (1, True)
        await hand.commit(done(claim))
        assert await watched.raised("jobs_running_long", "act") is None


@around
async def test_jobs_behind_a_job_of_their_key_that_does_not_end_are_an_alarm(
    watched: Watched, offset: timedelta
) -> None:
    hand, head = watched.worker(), await watched.enqueue(key="customer 7")
    quick = await watched.enqueue(key="customer 8")
    claims = {claim.id: claim for claim in await hand.pick()}
    await watched.enqueue_many(*({"key": "customer 7"} for _ in range(1_200)))
    await watched.enqueue(key="customer 7", delay=timedelta(days=1))
    await hand.pick()  # marks them as held
    await watched.at(watched.start + 15 * MINUTE + offset)
    alarm = await watched.raised("key_held_up", "customer 7")
    assert (alarm is not None) == (offset >= 0 * US)
    if alarm is not None:
        assert alarm.cause.startswith(
            f"Key customer 7 has 1000 or more jobs that must wait for job {head}, which has been"
        )
        # It runs for as long, and nobody waits.
        assert await watched.raised("key_held_up", "customer 8") is None
        await hand.commit(done(claims[head]), done(claims[quick]))
        assert await watched.raised("key_held_up", "customer 7") is None


@around
async def test_retention_an_hour_late_is_an_alarm(watched: Watched, offset: timedelta) -> None:
    await watched.enqueue()
    hand = watched.worker()
    await hand.commit(*map(done, await hand.pick()))
    await watched.at(watched.start + timedelta(days=2, hours=1) + offset)
    await watched.present("w1", retention=timedelta(days=2))
    await watched.present("w2", retention=timedelta(days=9))
    assert (await watched.raised("retention_behind", "jobs") is not None) == (offset >= 0 * US)
    await watched.run("purge_jobs", timedelta(days=2), 100, None)
    assert await watched.raised("retention_behind", "jobs") is None


async def test_dead_rows_that_no_vacuum_removes_are_an_alarm(watched: Watched) -> None:
    watched.let(dead_rows=50, after={**watched.thresholds.after, "vacuum_behind": timedelta(0)})
    await watched.enqueue_many(*({} for _ in range(100)))
    async with watched.store.connection() as connection:
        await connection.execute("update kairos.gen_durable set priority = 1")
        await connection.execute("select pg_stat_force_next_flush()")
    assert await watched.raised("vacuum_behind", "gen_durable")
    async with watched.store.connection() as connection:
        await connection.execute("vacuum kairos.gen_durable")
        await connection.execute("select pg_stat_force_next_flush()")
    assert await watched.raised("vacuum_behind", "gen_durable") is None


async def test_a_transaction_left_open_is_an_alarm_until_it_ends(watched: Watched) -> None:
    async with watched.store.transaction() as connection:
        pid = await connection.fetchval("select pg_backend_pid()")
        assert await watched.raised("transaction_open", f"pid {pid}") is None
        watched.let(after={**watched.thresholds.after, "transaction_open": timedelta(0)})
        alarm = await watched.raised("transaction_open", f"pid {pid}")
        assert alarm is not None
        assert "kairos, idle in transaction" in alarm.cause
        assert f"`select pg_terminate_backend({pid})`" in alarm.remedy
    assert await watched.raised("transaction_open", f"pid {pid}") is None


@pytest.mark.parametrize(
    "setting",
    [
        "jobs_overdue=soon",
        "jobs_late=1m",
        "jobs_failed=1m",
        "jobs_overdue.act=1m",
        "jobs_overdue",
        {"jobs_overdue": -1},
    ],
    ids=["no length", "no kind", "no threshold", "not by action", "no value", "negative"],
)
def test_a_threshold_that_makes_no_sense_is_refused(setting: Any) -> None:
    with pytest.raises(ConfigError, match="alarm_after"):
        Thresholds.of(setting)


def test_thresholds_are_read_from_text_and_from_tables() -> None:
    by_text = Thresholds.of("jobs_overdue=10m, jobs_waiting.order=3d")
    by_table = Thresholds.of({"jobs_overdue": "10m", "jobs_waiting": {"order": "3d"}})
    assert by_text == by_table == Thresholds.of({"jobs_overdue": "10m", "jobs_waiting.order": "3d"})
    assert by_text.after["jobs_overdue"] == 10 * MINUTE
    assert by_text.waiting == {"order": timedelta(days=3)}
    assert by_text.after.keys() == {kind.name for kind in KINDS.values() if kind.after is not None}
