"""What no well-behaved client sends, over a raw socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from tests.api.service_process import Shared, shared

from kairos.api import ServiceSettings, build

LIMIT = 2000


@pytest.fixture(scope="module")
def service(shared_database: str) -> Iterator[Shared]:
    settings = ServiceSettings(open=True, body_limit=LIMIT, limit_concurrency=50, streams_per_caller=100)
    with shared(shared_database, lambda kairos: build(kairos, settings)) as running:
        yield running


def connect(service: Shared) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=30)


def said(connection: socket.socket) -> bytes:
    """Everything the server sends until it closes, or falls silent after an answer."""
    heard = b""
    connection.settimeout(5)
    while True:
        try:
            piece = connection.recv(65536)
        except (TimeoutError, ConnectionResetError):
            return heard
        if not piece:
            return heard
        heard += piece


def exchange(service: Shared, request: bytes) -> bytes:
    with connect(service) as connection:
        connection.sendall(request)
        return said(connection)


HEAD = (
    b"POST /api/keys HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
)


def test_a_chunked_body_past_the_limit_is_refused_before_it_ends(service: Shared) -> None:
    with connect(service) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        piece = b"1f4\r\n" + b" " * 500 + b"\r\n"
        connection.sendall(piece * 5)  # past the limit, and the end never comes
        assert said(connection).startswith(b"HTTP/1.1 413 ")


def test_a_length_past_the_limit_is_refused_before_the_body_comes(service: Shared) -> None:
    with connect(service) as connection:
        connection.sendall(HEAD + b"Content-Length: 2001\r\n\r\n")
        assert said(connection).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 1e3\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: identity\r\n",
        b"Transfer-Encoding: chunked, chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding: chunked;q=1\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Content-Length: 4\r\nTransfer-Encoding: gzip, chunked\r\n",
    ],
    ids=[
        "CL and TE",
        "TE and CL",
        "two lengths",
        "a negative length",
        "no number",
        "not chunked last",
        "not chunked",
        "chunked twice",
        "two lines",
        "no name of one",
        "a parameter",
        "a stray byte",
        "a space before the colon",
        "CL and an unknown one",
    ],
)
def test_a_body_whose_length_is_in_doubt_is_refused(service: Shared, headers: bytes) -> None:
    smuggled = b"0\r\n\r\nGET /api/session HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = exchange(service, HEAD + headers + b"\r\n" + smuggled)
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert b'"local"' not in answer


@pytest.mark.parametrize(
    "headers",
    [b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding: gzip\r\nTransfer-Encoding: Chunked\r\n"],
    ids=["one line", "two lines"],
)
def test_a_body_in_another_encoding_than_chunked_is_refused(service: Shared, headers: bytes) -> None:
    behind = b"0\r\n\r\nGET /api/session HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = exchange(service, HEAD.replace(b"Connection: close\r\n", b"") + headers + b"\r\n" + behind)
    assert answer.startswith(b"HTTP/1.1 501 ") and answer.count(b"HTTP/1.1 ") == 1, answer
    assert b"connection: close" in answer.lower()


def test_a_client_of_http_1_0_cannot_send_a_chunked_body(service: Shared) -> None:
    sent = HEAD.replace(b"HTTP/1.1", b"HTTP/1.0") + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    assert exchange(service, sent).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET /api/session\r\n",
        b"GET  /api/session HTTP/1.1 x\r\n",
        b"\x00\x01\x02\r\n",
        b"GET /a b HTTP/1.1\r\n",
    ],
    ids=["no version", "too much", "bytes", "a space"],
)
def test_a_request_that_is_none_is_refused_and_the_service_goes_on(
    service: Shared, request_line: bytes
) -> None:
    exchange(service, request_line + b"Host: localhost\r\n\r\n")
    assert service.http.get("/healthz").status_code == 200


def test_half_headers_hold_up_nobody_else(service: Shared) -> None:
    slow = []
    try:
        for _ in range(40):
            slow.append(connect(service))
            slow[-1].sendall(b"GET /api/session HTTP/1.1\r\nHost: local")
        assert service.http.get("/healthz").status_code == 200
    finally:
        for each in slow:
            each.close()


def test_headers_without_an_end_are_cut_off(service: Shared) -> None:
    with connect(service) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 66_000)
        assert said(connection).startswith(b"HTTP/1.1 431 ")
    assert service.http.get("/healthz").status_code == 200


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"


@pytest.mark.parametrize("piece", [b"a:\r\n", b"bbbb"], ids=["many", "a long one"])
def test_trailers_without_an_end_are_cut_off(service: Shared, piece: bytes) -> None:
    with connect(service) as connection:
        connection.sendall(CHUNKED)
        for _ in range(16):
            connection.sendall(piece * 16_384)
        answer = said(connection)
    assert answer.startswith(b"HTTP/1.1 431 ") and b"trailers" in answer
    assert service.http.get("/healthz").status_code == 200


def test_small_chunks_are_not_taken_for_trailers(service: Shared) -> None:
    with connect(service) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(100):
            connection.sendall(b"1;" + b"x" * 1000 + b"\r\n \r\n")
        connection.sendall(b"2\r\n{}\r\n0\r\nX: y\r\n\r\n")
        assert said(connection).startswith(b"HTTP/1.1 422 ")


def test_a_trailer_does_not_become_a_header(service: Shared) -> None:
    sent = CHUNKED.replace(b"Content-Type: application/json\r\n", b"")
    answer = exchange(service, sent + b"Content-Type: application/json\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 415 "), answer


@pytest.mark.parametrize("name", ["Host", "Authorization", "Last-Event-ID"])
def test_a_header_that_may_stand_once_is_refused_twice(service: Shared, name: str) -> None:
    twice = b"%b: localhost\r\n" % name.encode()
    host = b"" if name == "Host" else b"Host: localhost\r\n"
    answer = exchange(
        service, b"GET /api/events HTTP/1.1\r\nConnection: close\r\n" + host + twice * 2 + b"\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 400 ") and b'"REFUSED"' in answer and name.encode() in answer, answer


def test_past_the_limit_of_connections_one_is_told_to_come_later(service: Shared) -> None:
    held = []
    try:
        for _ in range(60):
            held.append(connect(service))
            held[-1].sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            held[-1].recv(1)
        with connect(service) as connection:
            answer = said(connection)
        assert answer.startswith(b"HTTP/1.1 503 ") and b"X-Request-Id" in answer and b'"BUSY"' in answer
    finally:
        for each in held:
            each.close()


def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_nothing_behind(service: Shared) -> None:
    with connect(service) as connection:
        connection.sendall(HEAD + b'Content-Length: 100\r\n\r\n{"name": "half')
    assert service.http.get("/api/keys").json()["keys"] == []


async def test_headers_and_bodies_that_do_not_come_are_not_waited_for_for_ever(serve: Any) -> None:
    async with serve(open=True, receive_timeout=0.3) as served:
        for sent in (
            b"",
            b"GET /healthz HTTP/1.1\r\nHost: local",
            HEAD + b'Content-Length: 100\r\n\r\n{"name": ',
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(sent)
            answer = await asyncio.wait_for(reader.read(), 30)
            assert answer.startswith(b"HTTP/1.1 408 ") and b'"TOO_SLOW"' in answer
            writer.close()
        # A connection that is used again is under the same rule.
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readuntil(b"}")
        writer.write(b"GET /healthz HTTP/1.1\r\n")
        assert b" 408 " in await asyncio.wait_for(reader.read(), 30)
        writer.close()
