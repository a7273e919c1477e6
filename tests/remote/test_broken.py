"""Connections break: nothing is done twice, nothing is missed and nothing is told twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from anyio.abc import SocketStream
from tests.api.service_process import Served, serving
from tests.remote.conftest import Told, told
from tests.remote.cutting import Cutter

from kairos import Context, Kairos
from kairos.errors import NotFound, TooManyRequests, Unreachable
from kairos.remote import KairosClient, exchange


@pytest.fixture
async def cutter(served: Served) -> AsyncIterator[Cutter]:
    async with Cutter(served.port) as cutter:
        yield cutter


@pytest.fixture
async def kairos(cutter: Cutter, blocks: bool) -> AsyncIterator[Told]:
    async with told(blocks, cutter.url) as client:
        yield client


async def jobs_of(app: Kairos) -> int:
    return len(await app.jobs())


async def test_an_enqueue_whose_answer_was_lost_makes_one_job(
    kairos: Told, cutter: Cutter, app: Kairos
) -> None:
    cutter.cut_answers = 2
    job = await kairos.ask(lambda kairos: kairos.enqueue("double", number=1))
    assert (await jobs_of(app), cutter.cut_answers, cutter.connections) == (1, 0, 3)
    assert job.id == (await app.jobs())[0].id


async def test_a_connection_that_is_closed_while_it_is_set_up_is_unreachable_also_on_uvloop(
    cutter: Cutter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uvloop has no socket any more then, which anyio asks for its address."""
    monkeypatch.setattr(SocketStream, "extra_attributes", property(lambda stream: None.getpeername()))
    async with KairosClient(cutter.url, tries=1) as client:
        with pytest.raises(Unreachable):
            await client.get(1)
        with pytest.raises(Unreachable):
            async for _ in client.follow():
                pass


async def test_a_batch_a_retry_and_a_signal_whose_answers_were_lost_are_done_once(
    kairos: Told, cutter: Cutter, app: Kairos
) -> None:
    cutter.cut_answers = 1
    first, second = await kairos.ask(
        lambda kairos: kairos.enqueue_many([kairos.call("double", number=n) for n in (1, 2)])
    )
    assert await jobs_of(app) == 2
    await app.cancel(first.id)
    cutter.cut_answers = 1
    await kairos.ask(lambda kairos: kairos.retry(first.id))
    assert await jobs_of(app) == 3
    cutter.cut_answers = 1
    assert await kairos.ask(lambda kairos: kairos.signal(second.id, "paid")) == "delivered"
    assert len(await app.signals(second.id)) == 1


async def test_a_read_is_asked_again(kairos: Told, cutter: Cutter) -> None:
    job = await kairos.ask(lambda kairos: kairos.enqueue("double", number=1))
    cutter.cut_answers = 1
    assert (await kairos.ask(lambda kairos: kairos.get(job.id))).id == job.id


async def test_a_cancel_whose_answer_was_lost_is_not_sent_again_and_says_so(
    kairos: Told, cutter: Cutter, app: Kairos
) -> None:
    job = await kairos.ask(lambda kairos: kairos.enqueue("double", number=1))
    cutter.cut_answers = 1
    with pytest.raises(Unreachable, match="look whether it was done"):
        await kairos.ask(lambda kairos: kairos.cancel(job.id))
    assert (await app.get(job.id)).state == "cancelled"


async def test_a_service_that_is_not_there_is_told_after_some_tries(
    cutter: Cutter, blocks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "LONGEST_PAUSE", 0.06)
    cutter.refuse = 100
    async with told(blocks, cutter.url, tries=3) as kairos:
        with pytest.raises(Unreachable, match="again and again"):
            await kairos.ask(lambda kairos: kairos.enqueue("double", number=1))
    assert cutter.connections == 3


async def test_a_service_that_comes_back_is_found_again(kairos: Told, cutter: Cutter, app: Kairos) -> None:
    cutter.refuse = 3
    await kairos.ask(lambda kairos: kairos.enqueue("double", number=1))
    assert await jobs_of(app) == 1


async def test_being_asked_to_wait_is_honoured(app: Kairos, blocks: bool) -> None:
    async with serving(app, open=True, rate=2, burst=1) as served:
        async with told(blocks, served.url) as kairos:
            for _ in range(3):
                await kairos.ask(lambda kairos: kairos.stats())
        async with told(blocks, served.url, tries=1) as kairos:
            with pytest.raises(TooManyRequests) as refused:
                for _ in range(5):
                    await kairos.ask(lambda kairos: kairos.stats())
            assert refused.value.retry_after >= 1


async def test_a_stream_that_breaks_is_followed_without_a_gap_or_a_repeat(
    kairos: Told, cutter: Cutter, app: Kairos
) -> None:
    """Every connection is cut after a while, in the middle of a line too: 40 lines come once each, in order."""

    @app.job
    async def talks(ctx: Context) -> str:
        for number in range(40):
            ctx.log.info(f"line {number}")
            await asyncio.sleep(0.005)
        return "said"

    cutter.cut_after_bytes = 1500
    job = await talks.enqueue()
    async with app.worker(poll=0.1):
        events = await kairos.all(lambda kairos: kairos.follow(job.id))
    lines = [event.data["line"] for event in events if event.name == "log"]
    assert lines == [f"line {number}" for number in range(40)]
    assert events[-1].name == "status"
    assert (events[-1].data["state"], events[-1].data["output"]) == ("success", "said")
    states = [event.data["state"] for event in events if event.name == "status"]
    assert len(states) == len(set(states))
    assert cutter.connections > 2
    cutter.cut_after_bytes = None
    assert [row.line for row in await kairos.all(lambda kairos: kairos.logs(job.id))][:40] == lines


async def test_a_stream_can_be_begun_where_it_was_left(kairos: Told, app: Kairos, worker: None) -> None:
    job = await kairos.ask(lambda kairos: kairos.enqueue("double", number=1))
    await app.result(job.id, timeout=60)
    events = await kairos.all(lambda kairos: kairos.follow(job.id))
    last = max(event.cursor for event in events if event.cursor is not None)
    again = await kairos.all(lambda kairos: kairos.follow(job.id, cursor=last))
    assert [event.name for event in again] == ["status"]


async def test_a_stream_of_no_job_is_refused(kairos: Told) -> None:
    with pytest.raises(NotFound):
        await kairos.all(lambda kairos: kairos.follow(10**9))


async def test_everything_is_followed_live(served: Served, app: Kairos, worker: None) -> None:
    async with told(False, served.url) as kairos:
        seen: list[Any] = []

        async def listen() -> None:
            async for event in kairos.client.follow():
                seen.append(event)

        listening = asyncio.create_task(listen())
        async with asyncio.timeout(30):
            while not any(event.name == "change" and event.data["verb"] == "done" for event in seen):
                await kairos.ask(lambda kairos: kairos.enqueue("double", number=1))
                await asyncio.sleep(0.1)
        listening.cancel()
