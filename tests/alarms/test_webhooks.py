"""Webhooks: each raised and each cleared alarm is sent once, signed, by a job, to where it may go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.alarms.checking import Watched
from tests.alarms.webhook_receiver import Receiver, app, receiver  # noqa: F401 (fixtures)
from tests.engine_statements import Rig, stop
from tests.worker.world import ended, reaches, until

from kairos import Job, Kairos
from kairos.alarms.thresholds import Thresholds
from kairos.errors import BadRequest
from kairos.operations import webhooks as verbs
from kairos.operations.alarms import acknowledge, alarms
from kairos.operations.webhooks import ACTION, QUEUE
from kairos.shapes.alarm import Alarm
from kairos.worker.alarm_loop import run_checks


async def look(app: Kairos) -> list[Alarm]:
    """The alarms that are open; a worker may have looked just before."""
    await run_checks(app.store, Thresholds())
    return await app.run(alarms())


async def fail_a_job(app: Kairos, action: str = "act") -> None:
    rig = Rig(app.store)
    await rig.enqueue(action=action, queue="by hand")
    hand = rig.worker(queues=["by hand"])
    await hand.commit(*map(stop, await hand.pick("by hand")))


async def deliveries(app: Kairos) -> list[Job]:
    return list(reversed(await app.jobs(action=ACTION)))


async def test_an_alarm_is_sent_signed_when_it_is_raised_and_when_it_clears(
    app: Kairos, receiver: Receiver
) -> None:
    hook = await app.run(verbs.add_webhook(receiver.url))
    async with app.worker(queues=["mail"], poll=0.1) as worker:
        await fail_a_job(app)
        (alarm,) = await look(app)
        (sent,) = await until(lambda: receiver.received, "the alarm")
        assert sent.event["type"] == "alarm.raised"
        assert sent.event["alarm"]["cause"] == alarm.cause
        assert (sent.event["alarm"]["id"], sent.event["alarm"]["clearedAt"]) == (alarm.id, None)
        assert sent.headers["kairos-delivery"] == sent.event["id"] == f"{hook.id}-{alarm.id}-raised"
        assert sent.headers["content-type"] == "application/json"
        assert sent.verifies(hook.secret)
        assert not sent.verifies(f"{hook.secret}x")
        await app.run(acknowledge(alarm.id))
        await look(app)
        _, cleared = await until(lambda: receiver.received[1:] and receiver.received, "its end")
        assert (cleared.event["type"], cleared.event["alarm"]["id"]) == ("alarm.cleared", alarm.id)
        assert cleared.event["alarm"]["clearedAt"] == cleared.event["at"]
        jobs = await deliveries(app)
        assert [(await ended(app, job.id)).output for job in jobs] == [{"status": 204}] * 2
        assert [job.queue for job in jobs] == [QUEUE] * 2
        (row,) = await app.workers()
        assert (row.id, QUEUE in row.queues, ACTION in row.actions) == (worker.name, True, True)


async def test_the_secret_is_in_no_job_and_no_list(app: Kairos, receiver: Receiver) -> None:
    hook = await app.run(verbs.add_webhook(receiver.url))
    assert hook.secret.startswith("whsec_")
    await fail_a_job(app)
    await look(app)
    (job,) = await deliveries(app)
    (listed,) = await app.run(verbs.webhooks())
    assert listed.secret is None
    for table in ("gen_durable", "history", "alarms", "incidents"):
        rows = await Rig(app.store).fetch(f"select t::text from kairos.{table} t")
        assert hook.secret not in str(rows)
    assert job.input["webhook"] == hook.id


async def test_a_receiver_that_breaks_twice_gets_it_at_the_third_try_under_the_same_id(
    app: Kairos, receiver: Receiver
) -> None:
    receiver.answers = [500, 503]
    hook = await app.run(verbs.add_webhook(receiver.url))
    async with app.worker(queues=["mail"], poll=0.1):
        await fail_a_job(app)
        await look(app)
        for tries in (1, 2):
            await until(lambda tries=tries: len(receiver.received) == tries, f"try {tries}")
            (job,) = await deliveries(app)
            await reaches(app, job.id, "scheduled")
            await app.run_now(job.id)
        (job,) = await deliveries(app)
        assert (await ended(app, job.id)).output == {"status": 204}
    assert len(receiver.received) == 3
    assert len({each.headers["kairos-delivery"] for each in receiver.received}) == 1
    assert len({each.body for each in receiver.received}) == 1
    assert all(each.verifies(hook.secret) for each in receiver.received)


async def test_a_webhook_is_sent_only_the_kinds_it_asks_for_and_none_while_it_is_paused(
    app: Kairos, receiver: Receiver
) -> None:
    everything = await app.run(verbs.add_webhook(receiver.url))
    failures = await app.run(verbs.add_webhook(receiver.url, kinds=["jobs_failed"]))
    paused = await app.run(verbs.add_webhook(receiver.url, paused=True))
    await fail_a_job(app)
    await Rig(app.store).fetch(
        "insert into kairos.incidents (kind, subject, at) values ('leases_reaped', 'act', now())"
    )
    await look(app)
    sent = sorted(
        (job.input["webhook"], job.input["event"]["alarm"]["kind"]) for job in await deliveries(app)
    )
    assert sent == [
        (everything.id, "jobs_failed"),
        (everything.id, "leases_reaped"),
        (failures.id, "jobs_failed"),
    ]
    await app.run(verbs.change_webhook(paused.id, paused=False))
    await fail_a_job(app, "other")
    await look(app)
    assert paused.id in {job.input["webhook"] for job in await deliveries(app)}


async def test_what_is_enqueued_for_one_that_is_paused_or_deleted_meanwhile_is_not_sent(
    app: Kairos, receiver: Receiver
) -> None:
    paused, gone = [await app.run(verbs.add_webhook(receiver.url)) for _ in range(2)]
    await fail_a_job(app)
    await look(app)
    await app.run(verbs.change_webhook(paused.id, paused=True))
    await app.run(verbs.remove_webhook(gone.id))
    async with app.worker(queues=["mail"], poll=0.1):
        jobs = [await ended(app, job.id) for job in await deliveries(app)]
        assert [job.output for job in jobs] == [
            {"skipped": "the webhook is paused"},
            {"skipped": "the webhook is gone"},
        ]
        assert receiver.received == []
        test = await app.run(verbs.try_webhook(paused.id))  # a test goes out all the same
        assert (await ended(app, test.id)).output == {"status": 204}
    assert [each.event["type"] for each in receiver.received] == ["test"]


async def test_a_delivery_is_enqueued_once_however_many_look(app: Kairos, receiver: Receiver) -> None:
    await app.run(verbs.add_webhook(receiver.url))
    await fail_a_job(app)
    for _ in range(3):
        await look(app)
    assert len(await deliveries(app)) == 1


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.2:9/", "http://169.254.169.254/latest", "http://[::1]:9/", "http://127.0.0.1:22/"],
    ids=["loopback", "metadata", "loopback of 6", "port"],
)
async def test_a_webhook_leads_to_no_place_that_is_not_allowed(app: Kairos, url: str) -> None:
    hook = await app.run(verbs.add_webhook(url))
    job = await app.run(verbs.try_webhook(hook.id))
    async with app.worker(queues=["mail"], poll=0.1):
        job = await ended(app, job.id)
    assert (job.state, job.attempt) == ("failed", 0)  # forbidden now is forbidden in an hour
    (listed,) = await app.run(verbs.webhooks())
    assert (listed.last_delivery.job, listed.last_delivery.state) == (job.id, "failed")


async def test_a_redirect_is_not_followed(app: Kairos, receiver: Receiver) -> None:
    receiver.answers = [receiver.url]
    hook = await app.run(verbs.add_webhook(receiver.url))
    job = await app.run(verbs.try_webhook(hook.id))
    async with app.worker(queues=["mail"], poll=0.1):
        job = await reaches(app, job.id, "scheduled", "failed")
    assert (job.error, len(receiver.received)) == ("StepError: The receiver answered 307.", 1)


async def test_a_webhook_that_cannot_be_delivered_is_an_alarm_that_is_told_to_others_and_not_to_itself(
    app: Kairos, receiver: Receiver
) -> None:
    broken = await app.run(verbs.add_webhook("http://127.0.0.2:9/"))
    whole = await app.run(verbs.add_webhook(receiver.url))
    async with app.worker(queues=["mail"], poll=0.1):
        await ended(app, (await app.run(verbs.try_webhook(broken.id))).id)
        (alarm,) = await look(app)
        assert (alarm.kind, alarm.subject) == ("webhook_undeliverable", str(broken.id))
        (sent,) = await until(lambda: receiver.received, "the alarm")
        assert sent.event["alarm"]["kind"] == "webhook_undeliverable"
        await look(app)
        assert {job.input["webhook"] for job in await deliveries(app) if job.state != "failed"} == {whole.id}
        await app.run(verbs.change_webhook(broken.id, url=receiver.url))
        await ended(app, (await app.run(verbs.try_webhook(broken.id))).id)
        assert await look(app) == []


async def test_two_broken_webhooks_do_not_tell_each_other_for_ever(app: Kairos) -> None:
    for _ in range(2):
        await app.run(verbs.add_webhook("http://127.0.0.2:9/"))
    async with app.worker(queues=["mail"], poll=0.1):
        await fail_a_job(app)
        for _ in range(5):
            await look(app)
            for job in await deliveries(app):
                await ended(app, job.id)
        # The failure to both, and the failure of each to the other.
        assert len(await deliveries(app)) == 4


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"url": "ftp://example.com"}, "url"),
        ({"url": "https://"}, "url"),
        ({"url": "https://user:secret@example.com"}, "url"),
        ({"url": "https://exa mple.com"}, "url"),
        ({"url": "https://example.com/" + "a" * 3000}, "url"),
        ({"url": "https://example.com:99999"}, "url"),
        ({"url": "https://example.com", "kinds": ["no_such"]}, "kinds"),
        ({"url": "https://example.com", "kinds": "jobs_failed"}, "kinds"),
    ],
    ids=["scheme", "no host", "password", "space", "long", "port", "unknown kind", "text"],
)
async def test_a_webhook_that_makes_no_sense_is_refused(
    app: Kairos, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        await app.run(verbs.add_webhook(**given))
    assert refused.value.field == field
    assert "secret" not in refused.value.message


async def test_cleared_alarms_leave_after_a_month(watched: Watched) -> None:
    await watched.enqueue(queue="mail")
    await watched.at(watched.start + timedelta(minutes=1))
    alarm = await watched.raised("queue_unserved", "mail")
    assert alarm is not None
    await watched.app.pause("mail")
    await watched.check()
    await watched.at(watched.start + timedelta(days=30))
    await watched.check()
    assert await watched.value("select count(*) from kairos.alarms") == 1
    await watched.at(watched.start + timedelta(days=31))
    await watched.check()
    assert await watched.value("select count(*) from kairos.alarms") == 0
