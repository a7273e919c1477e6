"""Many readers, readers that leave, stop reading or come too often; and a service or a database that goes away."""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.api.event_reader import Ear, listen, voice
from tests.api.service_process import Served, serving
from tests.faults.proxy import Proxy
from tests.worker.world import until

from kairos import Kairos
from kairos.api.event_hub import EventHub

Serve = Callable[..., AbstractAsyncContextManager[Served]]


async def hub_of(served: Served) -> Any:
    return await served.service.component(EventHub)


async def test_a_thousand_readers_of_one_process_hear_everything(app: Kairos, serve: Serve) -> None:
    """Half of them follow one job, the others one job each of fifty."""
    limits = {
        "streams": 1100,
        "streams_per_caller": 1100,
        "limit_concurrency": 3000,
        "connections_per_address": 3000,
        "rate": 1e6,
        "burst": 10**6,
    }
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, most), most))
    async with serve(open=True, **limits) as served:
        one = await voice(app, ["before"], queue="one")
        others = [await voice(app, ["before"], queue=f"q{number}") for number in range(50)]
        jobs = [one.job] * 500 + [others[number % 50].job for number in range(500)]
        ears: list[Ear] = []
        for at in range(0, 1000, 50):  # as many at once as a backlog of connections holds
            paths = [f"/api/jobs/{job}/events" for job in jobs[at : at + 50]]
            ears += await asyncio.gather(*(listen(served.port, path) for path in paths))
        hub = await hub_of(served)
        assert hub.slots.active == 1000
        assert app.store.connections.open_connections <= app.settings.pool_size
        memory = _resident()
        for speaker in (one, *others):
            await speaker.say("during")
            await speaker.end()
        for ear in ears:
            lines = [event.data.get("line") for event in await ear.rest()]
            assert lines[-3:] == ["before", "during", None]
        assert _resident() - memory < 200 << 20
        await until(lambda: hub.slots.active == 0)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def test_a_reader_that_leaves_frees_its_place_also_before_the_first_byte(
    app: Kairos, served: Served
) -> None:
    job = await voice(app)
    hub = await hub_of(served)
    for number in range(300):
        line = socket.create_connection(("127.0.0.1", served.port))
        # Closed with a reset, not in good order.
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        path = f"/api/jobs/{job.job}/events" if number % 2 else "/api/events"
        line.send(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        if number % 3 == 0:
            await asyncio.sleep(0.002)
        line.close()
    await until(lambda: hub.slots.active == 0)
    await until(lambda: not hub.is_polling)
    ear = await listen(served.port, f"/api/jobs/{job.job}/events")
    ear.close()
    await until(lambda: hub.slots.active == 0)


async def test_a_reader_that_stops_reading_is_cut_off_and_the_others_go_on(
    app: Kairos, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    hub = await hub_of(served)
    hub.timeouts.write_timeout = 0.5
    job = await voice(app)
    path = f"/api/jobs/{job.job}/events"
    frozen = socket.socket()
    frozen.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    frozen.connect(("127.0.0.1", served.port))
    frozen.send(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    ear = await listen(served.port, path)
    await until(lambda: hub.slots.active == 2)
    said = 0
    while hub.slots.active == 2:
        await job.say(*(f"{number} {'x' * 10_000}" for number in range(said, said + 50)))
        assert await _heard(ear, 50) == [*map(str, range(said, said + 50))]
        said += 50
        assert said < 20_000, "it was never cut off"
    await job.say("last")
    assert await _heard(ear, 1) == ["last"]
    await job.end()
    assert "log" not in {event.name for event in await ear.rest()}
    frozen.settimeout(10)
    with pytest.raises(ConnectionResetError):
        while await asyncio.to_thread(frozen.recv, 1 << 20):
            pass
    frozen.close()
    assert "without completing" not in caplog.text


async def _heard(ear: Ear, count: int) -> list[str]:
    """The first words of as many lines."""
    words: list[str] = []
    while len(words) < count:
        words += [
            event.data["line"].split()[0] for event in await ear.events(1, counts=True) if event.name == "log"
        ]
    return words


async def test_there_is_a_limit_in_all_and_for_each_caller(app: Kairos, serve: Serve) -> None:
    job = await voice(app)
    path = f"/api/jobs/{job.job}/events"
    for limits, words in (
        ({"streams": 3, "streams_per_caller": 9}, "its maximum of streams"),
        ({"streams": 9, "streams_per_caller": 3}, "local has 3 streams and waits already"),
    ):
        async with serve(open=True, **limits) as served:
            ears = [await listen(served.port, path) for _ in range(3)]
            refused = await served.http.get(path)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
            assert words in refused.json()["error"]["message"]
            assert (await served.http.get("/api/events")).status_code == 429
            ears[0].close()
            hub = await hub_of(served)
            await until(lambda hub=hub: hub.slots.active == 2)
            (await listen(served.port, path)).close()


async def test_a_silent_stream_shows_that_it_is_alive(app: Kairos, served: Served) -> None:
    hub = await hub_of(served)
    hub.timeouts.heartbeat = 0.05
    job = await voice(app)
    ear = await listen(served.port, f"/api/jobs/{job.job}/events")
    reading = asyncio.create_task(ear.rest())
    await until(lambda: ear.heartbeats >= 3)
    await job.end()
    assert (await reading)[-1].data["state"] == "success"


async def test_a_stream_that_grows_old_ends_and_its_reader_goes_on_with_its_cursor(
    app: Kairos, served: Served
) -> None:
    hub = await hub_of(served)
    hub.timeouts.max_duration = hub.timeouts.heartbeat = 0.1
    job = await voice(app, ["one"])
    events = await (await listen(served.port, f"/api/jobs/{job.job}/events")).rest()
    assert [event.id for event in events] == [None, "1"]


async def test_streams_end_when_the_service_stops(app: Kairos) -> None:
    job = await voice(app, ["one"])
    async with serving(app, open=True) as served:
        ears = [await listen(served.port, path) for path in (f"/api/jobs/{job.job}/events", "/api/events")]
        await ears[0].events(2)
    assert [await ear.rest() for ear in ears] == [[], []]


async def test_a_database_that_goes_away_leaves_neither_a_gap_nor_a_repeat(
    database: str, app: Kairos
) -> None:
    async with Proxy(database) as proxy, Kairos(proxy.url) as cut_off, serving(cut_off, open=True) as served:
        hub = await hub_of(served)
        hub.timeouts.heartbeat = 0.05
        job = await voice(app, ["1"])
        ear, feed = (
            await listen(served.port, f"/api/jobs/{job.job}/events"),
            await listen(served.port, "/api/events"),
        )
        await ear.events(2)
        await until(lambda: hub.is_ready)
        proxy.refuse = True
        proxy.cut()
        await job.say("2", "3")
        reading = asyncio.create_task(ear.rest())
        beats = ear.heartbeats
        await until(lambda: hub.failures > 1 and ear.heartbeats > beats + 1)
        assert not reading.done()
        await job.say("4")
        await job.end()
        proxy.refuse = False
        events = await reading
        assert [event.id for event in events] == ["2", "3", "4", None]
        (change,) = await feed.events(1)
        assert change.data["verb"] == "done"
        feed.close()


async def test_readers_that_never_read_hold_little_memory_each_and_hold_up_nobody(
    app: Kairos, serve: Serve
) -> None:
    """Each is far behind in a log of 6 MB, and takes none of it."""
    limits = {"streams": 200, "streams_per_caller": 200, "rate": 1e6, "burst": 10**6}
    job = await voice(app)
    for _ in range(3):
        await job.say(*("x" * 10_000 for _ in range(200)))
    async with serve(open=True, **limits) as served:
        hub = await hub_of(served)
        hub.timeouts.write_timeout = 120.0
        memory = _resident()
        silent: list[socket.socket] = []
        try:
            for _ in range(100):
                line = socket.socket()
                line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                line.connect(("127.0.0.1", served.port))
                line.send(f"GET /api/jobs/{job.job}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                silent.append(line)
            await until(lambda: hub.slots.active == 100)
            for _ in range(20):
                assert (await served.http.get("/healthz")).status_code == 200
                assert (await served.http.get("/api/jobs")).status_code == 200
            ear = await listen(served.port, f"/api/jobs/{job.job}/events")
            await job.end()
            assert len([event for event in await ear.rest() if event.name == "log"]) == 600
            assert _resident() - memory < 60 << 20
        finally:
            for line in silent:
                line.close()


async def test_a_cursor_beyond_the_newest_change_goes_on_with_what_comes(app: Kairos, served: Served) -> None:
    """As after a restore of the database: its numbers are lower than those that a reader remembers."""
    job = await voice(app)
    ear = await listen(served.port, "/api/events", Last_Event_ID="999999999")
    hub = await hub_of(served)
    await until(lambda: hub.is_ready)
    await job.end()
    while (heard := await ear.event()) is not None and heard.name != "change":
        pass
    ear.close()
    assert heard is not None and heard.data["to"] == "success"


async def test_a_cursor_beyond_the_last_line_of_a_job_goes_on_after_that_line(
    app: Kairos, served: Served
) -> None:
    """As after a failover that lost lines which a reader had seen: none of the lines that follow is skipped."""
    job = await voice(app, ["one", "two"])
    ear = await listen(served.port, f"/api/jobs/{job.job}/events", Last_Event_ID="999999999")
    await job.say("three", "four")
    await job.end()
    lines = [event.data["line"] for event in await ear.rest() if event.name == "log"]
    assert lines == ["three", "four"]
