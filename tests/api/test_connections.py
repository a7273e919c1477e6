"""No caller keeps others out by holding connections, and no answer is lost to a client that still sends."""

from __future__ import annotations

import asyncio
import errno
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from tests.worker.world import until

from kairos.api import ServiceSettings
from kairos.api.connection_limits import RESERVE, ConnectionLimits
from kairos.api.http_protocol import HttpProtocol

ASK = b"GET /api/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


VERSION = HEALTH.replace(b"/healthz", b"/api/version")


@asynccontextmanager
async def line(port: int, sent: bytes = b"", source: str = "127.0.0.1") -> AsyncIterator[Line]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    try:
        writer.write(sent)
        yield reader, writer
    finally:
        writer.close()


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    """One answer: its headers and its body."""
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
    length = next(
        int(text.split(b":")[1]) for text in head.lower().split(b"\r\n") if text.startswith(b"content-length")
    )
    return head + await asyncio.wait_for(reader.readexactly(length), 30)


async def drip(writer: asyncio.StreamWriter, byte: bytes) -> None:
    """Send a byte again and again, for as long as somebody takes it."""
    while not writer.is_closing():
        writer.write(byte)
        try:
            await writer.drain()
        except ConnectionError:
            return
        await asyncio.sleep(0.05)


async def closed_by_server(reader: asyncio.StreamReader) -> bytes:
    try:
        return await asyncio.wait_for(reader.read(), 30)
    except ConnectionError:
        return b""


@pytest.mark.parametrize("stray", [b"\n", b"G"], ids=["between requests", "of a next request"])
async def test_stray_bytes_after_an_answer_do_not_keep_a_connection(serve: Any, stray: bytes) -> None:
    async with serve(idle_timeout=0.5, receive_timeout=1) as served, AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(line(served.port, ASK)) for _ in range(20)]
        for reader, writer in lines:
            assert b" 401 " in await answer_of(reader)
            stack.callback(asyncio.create_task(drip(writer, stray)).cancel)
        for reader, _ in lines:
            assert b" 200 " not in await closed_by_server(reader)


async def test_an_answer_before_the_end_of_the_request_is_the_last_of_its_connection(serve: Any) -> None:
    async with serve(receive_timeout=1) as served, line(served.port, POST) as (reader, writer):
        answer = await answer_of(reader)
        assert b" 401 " in answer and b"connection: close" in answer.lower()
        dripping = asyncio.create_task(drip(writer, b" "))
        assert await closed_by_server(reader) == b""
        dripping.cancel()


async def test_a_connection_that_is_used_again_in_time_stays(serve: Any) -> None:
    async with serve(open=True) as served, line(served.port) as (reader, writer):
        for _ in range(3):
            writer.write(HEALTH)
            assert b" 200 " in await answer_of(reader)


async def test_one_address_has_so_many_connections_and_is_told_of_the_health_beyond_them(serve: Any) -> None:
    async with serve(open=True, connections_per_address=5) as served, AsyncExitStack() as stack:
        for _ in range(5):
            await stack.enter_async_context(line(served.port, b"GET /api/session HTTP/1.1\r\nHost: lo"))
        async with line(served.port, ASK) as (reader, _):
            answer = await answer_of(reader)
            assert b" 503 " in answer and b'"BUSY"' in answer
        for path in (b"/healthz", b"/readyz"):
            async with line(served.port, HEALTH.replace(b"/healthz", path)) as (reader, _):
                assert b" 200 " in await answer_of(reader)


async def test_a_trusted_proxy_stands_for_many_and_has_no_limit_of_its_own(serve: Any) -> None:
    limits = {"connections_per_address": 5, "trusted_proxies": ("127.0.0.1",)}
    async with serve(open=True, **limits) as served, AsyncExitStack() as stack:
        for _ in range(10):
            await stack.enter_async_context(line(served.port, b"GET /api/session HTTP/1.1\r\nHost: lo"))
        async with line(served.port, HEALTH.replace(b"/healthz", b"/api/version")) as (reader, _):
            assert b" 200 " in await answer_of(reader)


async def test_health_is_told_however_many_connections_say_nothing(serve: Any) -> None:
    async with serve(open=True, limit_concurrency=20) as served, AsyncExitStack() as stack:
        for _ in range(20 + 2 * RESERVE):
            await stack.enter_async_context(line(served.port, b"GET /api/session HTTP/1.1\r\nHost: lo"))
        for _ in range(5):
            async with line(served.port, HEALTH) as (reader, _):
                assert b" 200 " in await answer_of(reader)


async def test_an_idle_connection_makes_room_for_one_that_asks(serve: Any) -> None:
    async with serve(open=True, limit_concurrency=5) as served, AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(line(served.port, HEALTH)) for _ in range(5)]
        for reader, _ in lines:
            await answer_of(reader)
        async with line(served.port, HEALTH.replace(b"/healthz", b"/api/version")) as (reader, _):
            assert b" 200 " in await answer_of(reader)
        assert await closed_by_server(lines[0][0]) == b""


UNFINISHED = {
    "silent": b"",
    "half headers": b"GET /api/session HTTP/1.1\r\nHost: lo",
    "half a body": POST.replace(b"/api/jobs", b"/api/session"),
    "half headers after an answer": HEALTH + b"GET /api/session HTTP/1.1\r\nHost: lo",
    "half a body after an answer": HEALTH + POST.replace(b"/api/jobs", b"/api/session"),
    "a stray byte behind a request": HEALTH.replace(b"/healthz", b"/api/session") + b"x",
}


@pytest.mark.parametrize("sent", UNFINISHED.values(), ids=UNFINISHED)
async def test_connections_without_a_whole_request_keep_nobody_out(serve: Any, sent: bytes) -> None:
    limits = {"limit_concurrency": 20, "connections_per_address": 10}
    async with serve(open=True, **limits) as served, AsyncExitStack() as stack:
        for source in ("127.0.0.2", "127.0.0.3"):
            for _ in range(12):
                reader, _ = await stack.enter_async_context(line(served.port, sent, source))
                if sent.startswith(HEALTH):
                    await answer_of(reader)
        for _ in range(5):
            reader, _ = await stack.enter_async_context(line(served.port, VERSION))
            assert b" 200 " in await answer_of(reader)


async def test_a_request_that_runs_is_not_dropped_for_another(serve: Any) -> None:
    async with serve(open=True, limit_concurrency=2) as served, AsyncExitStack() as stack:
        ask = HEALTH.replace(b"/healthz", b"/api/events")
        lines = [await stack.enter_async_context(line(served.port, ask)) for _ in range(2)]
        for reader, _ in lines:
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
        async with line(served.port, VERSION) as (reader, _):
            assert b" 503 " in await answer_of(reader)


async def test_pipelined_requests_are_parsed_as_they_are_answered(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of other connections have their turn in between. No deadline ends headers whose rest was read already."""
    waiting: list[int] = []
    in_time: list[bool] = []
    parsed = HttpProtocol.on_headers_complete
    received = HttpProtocol.data_received

    def on_headers_complete(self: HttpProtocol) -> None:
        parsed(self)
        waiting.append(len(self.pipeline))

    def data_received(self: HttpProtocol, data: bytes) -> None:
        received(self, data)
        in_time.append(self._deadline is None or not self.flow.read_paused)

    monkeypatch.setattr(HttpProtocol, "data_received", data_received)
    monkeypatch.setattr(HttpProtocol, "on_headers_complete", on_headers_complete)
    count = 10_000  # more than one read takes
    async with serve(rate=100_000, burst=100_000) as served, line(served.port, HEALTH * count) as (reader, _):
        for _ in range(count):
            assert b" 200 " in await answer_of(reader)
    assert len(waiting) == count
    assert max(waiting) <= 2048 // len(HEALTH)
    assert all(in_time)


async def test_a_new_connection_does_not_wait_for_all_others_that_pipeline_requests(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them has a request ready in every turn of the event loop; the new one needs several turns."""
    answered = 0
    counts: list[int] = []  # at the begin of the new connection, and with its answer
    made, completed = HttpProtocol.connection_made, HttpProtocol.on_response_complete

    def connection_made(self: HttpProtocol, transport: Any) -> None:
        made(self, transport)
        if self.client is not None and self.client[0] == "127.0.0.9":
            counts.append(answered)

    def on_response_complete(self: HttpProtocol) -> None:
        nonlocal answered
        answered += 1
        if self.client is not None and self.client[0] == "127.0.0.9":
            counts.append(answered)
        completed(self)

    monkeypatch.setattr(HttpProtocol, "connection_made", connection_made)
    monkeypatch.setattr(HttpProtocol, "on_response_complete", on_response_complete)
    many = 60
    async with serve(rate=100_000, burst=100_000) as served, AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(line(served.port, VERSION * 100)) for _ in range(many)]
        await until(lambda: answered > 2 * many, "requests that are answered")
        async with line(served.port, HEALTH, "127.0.0.9") as (reader, _):
            assert b" 200 " in await answer_of(reader)
        for reader, _ in lines:
            for _ in range(100):
                assert b" 200 " in await answer_of(reader)
    first, last = counts
    assert last - first < many


@pytest.mark.parametrize("sent", [VERSION, VERSION * 3], ids=["one", "pipelined"])
async def test_a_client_that_closed_its_side_gets_its_answers(serve: Any, sent: bytes) -> None:
    async with serve(open=True) as served, line(served.port, sent) as (reader, writer):
        writer.write_eof()
        heard = await closed_by_server(reader)
        assert heard.count(b"HTTP/1.1 200 ") == sent.count(b"GET ")
        assert heard.endswith(b"}")


async def test_a_body_and_the_end_of_the_clients_side_are_answered(serve: Any) -> None:
    body = b'{"key": "kr_none"}'
    head = POST.replace(b"/api/jobs", b"/api/session").replace(b": 100", b": %d" % len(body))
    async with serve() as served, line(served.port, head + body) as (reader, writer):
        writer.write_eof()
        assert b" 401 " in await closed_by_server(reader)


async def test_a_client_that_left_in_the_middle_of_a_request_is_not_waited_for(serve: Any) -> None:
    async with serve(open=True, receive_timeout=600, idle_timeout=600) as served:
        for sent in (b"", POST, HEALTH.replace(b"/healthz", b"/api/events")):
            async with line(served.port, sent) as (reader, writer):
                if b"events" in sent:
                    await reader.readuntil(b"\r\n\r\n")
                writer.write_eof()
                await closed_by_server(reader)


def in_memory() -> int:
    """How many requests and connections there are in memory."""
    return sum(
        issubclass(type(each), HttpProtocol)
        or (type(each) is dict and "raw_path" in each and "scheme" in each)
        for each in gc.get_objects()
    )


async def test_a_request_is_freed_without_the_garbage_collector(serve: Any) -> None:
    body = b'{"key": "kr_none"}'
    sign_in = POST.replace(b"/api/jobs", b"/api/session").replace(b": 100", b": %d" % len(body)) + body
    async with serve() as served:
        for sent in (VERSION, ASK, sign_in):  # whatever the first request makes is not counted
            async with line(served.port, sent) as (reader, _):
                await answer_of(reader)
        gc.collect()
        gc.disable()
        try:
            before = in_memory()
            for sent in (VERSION, ASK, sign_in) * 3:
                async with line(served.port, sent) as (reader, writer):
                    await answer_of(reader)
                    writer.write_eof()
                    await closed_by_server(reader)
            await until(lambda: in_memory() <= before, "the end of the requests")
        finally:
            gc.enable()


def write_then_read(port: int, request: bytes) -> bytes:
    """As simple clients do: send everything, then read."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        heard = b""
        while piece := connection.recv(65536):
            heard += piece
    return heard


@pytest.mark.parametrize("keyed", [True, False], ids=["too large", "unauthorized"])
async def test_a_refusal_reaches_a_client_that_writes_its_whole_body_before_it_reads(
    serve: Any, keyed: bool
) -> None:
    body = b" " * (32 << 20)
    head = POST.replace(b"Content-Length: 100", b"Content-Length: %d" % len(body))
    if not keyed:
        head = head.replace(b"Content-Length: %d" % len(body), b"Transfer-Encoding: chunked")
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    async with serve(receive_timeout=30) as served:
        heard = await asyncio.to_thread(write_then_read, served.port, head + body)
        assert heard.startswith(b"HTTP/1.1 413 " if keyed else b"HTTP/1.1 401 "), heard[:100]


async def test_a_client_that_leaves_its_answers_unread_is_cut_off(serve: Any) -> None:
    async with serve(open=True, receive_timeout=0.5) as served:
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
            connection.setblocking(False)
            loop = asyncio.get_running_loop()
            ask = HEALTH.replace(b"/healthz", b"/openapi.json")
            await loop.sock_sendall(connection, ask * 300)

            def is_reset() -> bool:
                return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET

            await until(is_reset, "the reset")


class Fake:
    """A connection that only knows whether it was dropped."""

    def __init__(self) -> None:
        self.dropped = False

    def drop(self) -> None:
        self.dropped = True


def test_the_reserve_drops_its_oldest_and_counts_are_given_back() -> None:
    limits = ConnectionLimits(most=2, most_of_one=1, exempt=("10.0.0.0/8",))
    first, second, third = Fake(), Fake(), Fake()
    assert limits.admit(first, "192.0.2.1") and not limits.admit(second, "192.0.2.1")
    limits.remove(second)
    limits.remove(first)
    assert limits.admit(first, "192.0.2.1")
    limits.remove(first)
    assert limits.admit(first, "10.1.1.1") and limits.admit(second, "10.1.1.1")
    limits.set_busy(first)
    limits.set_busy(second)
    assert not limits.admit(third, "10.1.1.1")
    spare = [Fake() for _ in range(RESERVE)]
    for each in spare:
        assert not limits.admit(each, "10.1.1.1")
    assert third.dropped and not any(each.dropped for each in spare)


def test_a_connection_without_a_whole_request_goes_before_an_idle_one() -> None:
    limits = ConnectionLimits(most=3, most_of_one=3)
    idle, silent, busy = Fake(), Fake(), Fake()
    for each in (idle, silent, busy):
        assert limits.admit(each, "192.0.2.1")
    limits.set_busy(idle)
    limits.set_idle(idle)
    limits.set_busy(busy)
    others = [Fake(), Fake(), Fake()]
    for each, dropped in zip(others[:2], (silent, idle), strict=True):
        assert limits.admit(each, "192.0.2.2") and dropped.dropped
        limits.set_busy(each)
    assert not limits.admit(others[2], "192.0.2.2") and not busy.dropped


def test_a_network_of_64_bits_counts_as_one_address() -> None:
    limits = ConnectionLimits(most=100, most_of_one=1, exempt=("2001:db8:9::1",))
    assert limits.admit(Fake(), "2001:db8::1") and not limits.admit(Fake(), "2001:db8::ffff")
    assert limits.admit(Fake(), "2001:db8:0:1::1")
    assert limits.admit(Fake(), "fe80::1%eth0") and not limits.admit(Fake(), "fe80::2%eth0")
    # A socket for both families shows IPv4 addresses like this.
    assert limits.admit(Fake(), "::ffff:192.0.2.1") and limits.admit(Fake(), "::ffff:192.0.2.2")
    assert not limits.admit(Fake(), "192.0.2.1")
    assert limits.admit(Fake(), "2001:db8:9::1") and limits.admit(Fake(), "2001:db8:9::1")
    assert limits.admit(Fake(), "")


def test_one_address_takes_at_most_a_quarter_of_the_connections() -> None:
    settings = ServiceSettings()
    assert settings.connections_per_address * 4 <= settings.limit_concurrency
