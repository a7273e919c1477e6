"""`kairos.signal` and `kairos.cancel`: the same statements, history and notifications as from Python."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from tests.sql_interface.actions import value
from tests.sql_interface.conftest import Connection

from kairos import Context, Kairos
from kairos.testing import drain


async def test_a_signal_wakes_its_job_by_id_or_unique_key(app: Kairos, shop: Connection, role: str) -> None:
    by_id, by_key = (
        value(shop, "select kairos.enqueue('order', unique_key => %s)", f"order:{n}") for n in (1, 2)
    )
    async with app.worker(poll=60):
        while value(shop, "select count(*) from kairos.jobs where state = 'waiting'") < 2:
            await asyncio.sleep(0.02)
        assert value(shop, "select kairos.signal(%s, 'paid', '{\"by\": \"card\"}')", by_id) == "woke"
        assert value(shop, "select kairos.signal('order:2', 'paid')") == "woke"
        assert await app.result(by_id, timeout=30) == {"by": "card"}
        assert await app.result(by_key, timeout=30) == {}
    woken = [row for row in await app.history(by_id) if row.verb == "wake"]
    assert [(row.actor, row.reason) for row in woken] == [(f"sql {role}", "signal paid")]


async def test_a_signal_that_nobody_waits_for_is_stored_once_for_each_dedup_key(shop: Connection) -> None:
    job = value(shop, "select kairos.enqueue('order')")
    sent = [
        value(shop, "select kairos.signal(%s, 'note', dedup_key => %s)", job, key) for key in ("a", "a", "b")
    ]
    assert sent == ["delivered", "duplicate", "delivered"]


# The arguments of kairos.signal to a live job, its code and its sentence.
REFUSED_SIGNALS = {
    "0, 'paid'": ("KA404", "There is no live job 0 to send 'paid' to."),
    "null::bigint, 'paid'": ("KA404", "There is no live job NULL"),
    "'order:9', 'paid'": ("KA404", "There is no live job 'order:9'"),
    "{job}, null": ("KA422", "name is null"),
    "{job}, ''": ("KA422", "name is empty"),
    "{job}, 'paid', '{{\"a\": 1e400}}'": ("KA422", "payload contains a number beyond 1e308"),
    "{job}, 'paid', '{{}}', ''": ("KA422", "dedup_key is empty"),
    "{ended}, 'paid'": ("KA409", "has ended and takes no more signals; 'paid' was not stored."),
}


async def test_a_signal_that_cannot_be_stored_is_refused(app: Kairos, shop: Connection) -> None:
    job = value(shop, "select kairos.enqueue('order', delay => '1 hour')")
    ended = value(shop, "select kairos.enqueue('send', '{\"user_id\": 1}')")
    await drain(app)
    for arguments, (code, sentence) in REFUSED_SIGNALS.items():
        with pytest.raises(psycopg.Error) as error:
            shop.execute(f"select kairos.signal({arguments.format(job=job, ended=ended)})".encode())
        assert (error.value.sqlstate, sentence in str(error.value)) == (code, True), str(error.value)


async def test_a_full_inbox_refuses_signals_from_sql_too(shop: Connection) -> None:
    job = value(shop, "select kairos.enqueue('order')")
    large = "jsonb_build_object('a', repeat('a', 1000000))"
    shop.execute(f"select kairos.signal({job}, 'note', {large}) from generate_series(1, 16)".encode())
    with pytest.raises(
        psycopg.Error, match=f"The inbox of job {job} is full: 'note' was not stored"
    ) as error:
        shop.execute(f"select kairos.signal({job}, 'note', {large})".encode())
    assert error.value.sqlstate == "KA429"


async def test_a_job_that_waits_is_cancelled_at_once(app: Kairos, shop: Connection, role: str) -> None:
    job = value(shop, "select kairos.enqueue('order', delay => '1 hour')")
    assert value(shop, "select kairos.cancel(%s, 'too late')", job) == "cancelled"
    row = (await app.history(job))[-1]
    assert (row.verb, row.from_state, row.actor, row.reason) == (
        "cancel",
        "scheduled",
        f"sql {role}",
        "too late",
    )
    with pytest.raises(psycopg.Error, match=f"Job {job} is cancelled and cannot be cancelled") as error:
        shop.execute("select kairos.cancel(%s)", [job])
    assert error.value.sqlstate == "KA409"
    with pytest.raises(psycopg.Error, match=r"There is no job 0\.") as error:
        shop.execute("select kairos.cancel(0)")
    assert error.value.sqlstate == "KA404"
    with pytest.raises(psycopg.Error, match="reason has 4001 characters"):
        shop.execute("select kairos.cancel(1, repeat('a', 4001))")


async def test_a_running_job_is_asked_to_stop(app: Kairos, shop: Connection) -> None:
    @app.job
    async def endless(ctx: Context) -> None:
        while True:
            await asyncio.sleep(0.02)
            await ctx.checkpoint()

    async with app.worker(poll=60):
        job = await endless.enqueue()
        while value(shop, "select state from kairos.jobs where id = %s", job.id) != "running":
            await asyncio.sleep(0.02)
        assert value(shop, "select kairos.cancel(%s, 'enough')", job.id) == "running"
        while (found := await app.get(job.id)).state == "running":
            await asyncio.sleep(0.02)
    assert (found.state, found.cancel_reason) == ("cancelled", "enough")


async def test_a_cancelled_job_makes_way_for_the_next_of_its_key(app: Kairos, shop: Connection) -> None:
    first, second = (
        value(shop, "select kairos.enqueue('send', '{\"user_id\": 1}', key => 'k')") for _ in range(2)
    )
    shop.execute("select kairos.cancel(%s)", [first])
    async with app.worker(queues=["mail"], poll=60):
        assert await app.result(second, timeout=30) == {"sent": 1}
