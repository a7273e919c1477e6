"""uvicorn's HTTP protocol with deadlines for headers, idle connections and unread responses, and limits on sizes."""

from __future__ import annotations

import asyncio
import socket
import struct
from http import HTTPStatus
from secrets import token_hex
from typing import Any, ClassVar

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kairos import serializers
from kairos.api.connection_limits import ConnectionLimits
from kairos.api.lingering_close import LingeringTransport
from kairos.api.request_limits import ANY_HOST, ON_EVERYTHING, SENDS_MORE

# A scope extension: a function that resets the connection and drops what is buffered for the client.
CUT = "kairos.cut"
# A scope extension: an `asyncio.Event`, set when the client has closed its side of the connection or has left.
CLIENT_DONE = "kairos.client_done"
_LARGEST_HEADERS = 64 * 1024
# Each chunk of a body costs some microseconds, however small it is: a body in chunks of one byte took seconds.
_MOST_CHUNKS = 20_000
# Bytes that are parsed at once. The requests in them wait behind the one that is being answered, and the bytes after
# them are parsed when all are answered: parsing a read of 256 KB of pipelined requests would stop the event loop for
# long, and again after each response.
_PIECE = 2048
# Seconds in which a connection beyond the limits must send its health check.
_SPARE_TIMEOUT = 2.0
# A client that reads fewer bytes of a response than this within `client_timeout` is cut off.
_LEAST_READ = 16 * 1024


class _HeldFlow(FlowControl):
    """Flow control that does not resume reading while `held`: bytes that were read before are not parsed yet."""

    held = False

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class HttpProtocol(HttpToolsProtocol):
    """Add deadlines to uvicorn's protocol, which waits for ever for headers and for clients that do not read.

    `client_timeout` is how long headers may take, and how long a client may leave a response unread; `idle` is how long
    a connection may stay without a request. Only complete headers end the idle time: stray bytes do not.

    Headers and trailers have a largest size, and trailers are dropped. A client that closes its side after a whole
    request still gets its response. Pipelined requests are parsed as they are answered, so that the requests of other
    connections have their turn in between.
    """

    client_timeout: ClassVar[float] = 20.0
    idle: ClassVar[float] = 15.0
    limits: ClassVar[ConnectionLimits]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_headers = True
        # After the size of a chunk and before its content: the last chunk has none, and its trailers follow.
        self._in_trailers = False
        self._in_message = False
        self._message = 0  # the number of the message that is being received, or was received last
        self._unparsed, self._parsed = b"", 0  # what was read, and up to where it was parsed
        self._chunks = 0
        self._unanswered = 0  # whole requests without a whole response
        self._client_done = asyncio.Event()
        self._is_refused = False
        self._is_spare = False
        self._read = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._write_check: asyncio.TimerHandle | None = None

    @classmethod
    def with_limits(cls, client_timeout: float, idle: float, limits: ConnectionLimits) -> type[HttpProtocol]:
        """Return a protocol class with these deadlines and limits."""
        return type("Protocol", (cls,), {"client_timeout": client_timeout, "idle": idle, "limits": limits})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._line = transport
        super().connection_made(LingeringTransport(transport, self._sends_more, self.client_timeout))  # type: ignore[arg-type]
        self._flow = self.flow = _HeldFlow(self.transport)
        self._is_spare = not self.limits.admit(self, self.client[0] if self.client else "")
        self._await_headers(
            min(self.client_timeout, _SPARE_TIMEOUT) if self._is_spare else self.client_timeout
        )

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_write_check()
        self.limits.remove(self)
        self._client_done.set()
        self.transport.finish()  # type: ignore[attr-defined]
        super().connection_lost(exc)
        # Both refer back to this protocol: the last request would stay in memory until the garbage collector runs.
        self.scope = self.cycle = None  # type: ignore[assignment]
        self.pipeline.clear()
        self._drop_unparsed()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return whether the connection stays open for the responses to whole requests.

        A client that has left looks the same as one that only sends no more. So a response without a length, such as
        an event stream, ends here, and every endpoint that waits for long ends with `CLIENT_DONE`.
        """
        self._client_done.set()
        if self.transport.lingers:  # type: ignore[attr-defined]
            self.transport.finish()  # type: ignore[attr-defined]
            return False
        if not self._unanswered or self._in_message or self.cycle.chunked_encoding:
            return False
        self.cycle.keep_alive = False
        return True

    def drop(self) -> None:
        """Close the connection at once, to make room for another."""
        self._stop_waiting()
        self._cut()

    def data_received(self, data: bytes) -> None:
        self._unparsed = self._unparsed[self._parsed :] + data
        self._parsed = 0
        self._parse()

    def _parse(self) -> None:
        """Parse what was read, up to the first request that waits behind another."""
        while self._parsed < len(self._unparsed) and not self.pipeline and not self.transport.is_closing():
            begin, self._parsed = self._parsed, self._parsed + _PIECE
            self._parse_piece(self._unparsed[begin : self._parsed])
        if self._parsed >= len(self._unparsed) or self.transport.is_closing():
            self._drop_unparsed()
            if self._flow.held:
                self._flow.held = False
                self._flow.resume_reading()
                if self._in_headers and self._in_message:
                    self._await_headers(self.client_timeout)
        else:
            self._flow.pause_reading()
            self._flow.held = True
            self._stop_waiting()  # it is not the client that keeps us waiting for the rest of its headers

    def _drop_unparsed(self) -> None:
        self._unparsed, self._parsed = b"", 0

    def _parse_piece(self, data: bytes) -> None:
        # Set to 0 where headers or trailers begin. The bytes that came together with that place are not counted: the
        # parser does not say at which of them it is.
        self._read += len(data)
        super().data_received(data)
        is_counted = self._in_headers or self._in_trailers
        if is_counted and self._read > _LARGEST_HEADERS and not self.transport.is_closing():
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            what = "headers" if self._in_headers else "trailers"
            self._refuse(status, "TOO_LARGE", f"The {what} are larger than {_LARGEST_HEADERS} bytes.")
        elif self._chunks > _MOST_CHUNKS and not self._is_refused and not self.transport.is_closing():
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            self._refuse(status, "TOO_LARGE", f"The body has more than {_MOST_CHUNKS:,} chunks.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._message += 1
        self.scope["extensions"] = self._extensions(self._message)
        self._in_headers = self._in_message = True
        self._chunks = 0
        if self.cycle is not None:
            self._read = 0
        if not self._is_spare:
            self._stop_waiting()
            self._await_headers(self.client_timeout)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_headers:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._stop_waiting()
        if self._is_refused:
            return  # it stands behind the request that was refused, whose length may be in doubt
        if any(name == b"transfer-encoding" for name, _ in self.headers) and not self._check_encoding():
            return
        if self._is_spare and self.url.partition(b"?")[0].decode("latin-1") not in ANY_HOST:
            self._refuse_busy()
            return
        super().on_headers_complete()
        if self._is_spare:
            self.cycle.keep_alive = False

    def on_chunk_header(self) -> None:
        self._in_trailers = True
        self._read = 0
        self._chunks += 1

    def on_body(self, body: bytes) -> None:
        self._in_trailers = False
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_message = self._in_trailers = False
        if not self._is_refused:
            self._unanswered += 1
            self.limits.set_busy(self)
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # It is 0 already if the response came before the whole request.
        self._unanswered = max(self._unanswered - 1, 0)
        self._unset_keepalive_if_required()  # any byte ends uvicorn's own timeout; only headers end the one below
        is_open = not self.transport.is_closing()
        if not self._unanswered and (is_open or self.transport.lingers):  # type: ignore[attr-defined]
            self.limits.set_idle(self)
        if is_open and self.cycle.response_complete:
            self._await_headers(self.idle)
        if self._unparsed and not self.pipeline:
            self.loop.call_soon(self._parse)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_check is None:
            self._watch_writes(self._line.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._stop_write_check()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, "REFUSED", "The request is not valid HTTP.")

    def _unsupported_upgrade_warning(self) -> None:
        super()._unsupported_upgrade_warning()
        self._drop_unparsed()  # it is of the other protocol

    def _extensions(self, message: int) -> dict[str, Any]:
        def sends_more() -> bool:
            return self._sends_more() and (self._is_refused or self._message == message)

        return {CUT: self._cut, SENDS_MORE: sends_more, CLIENT_DONE: self._client_done}

    def _sends_more(self) -> bool:
        """Whether the client may still send bytes of a request that will not be read."""
        return self._in_message or self._is_refused

    def _await_headers(self, seconds: float) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(seconds, self._on_deadline)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _on_deadline(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if self._is_spare:
            self._refuse_busy()
        elif self._in_message or self.cycle is None:
            status = HTTPStatus.REQUEST_TIMEOUT
            self._refuse(
                status, "TOO_SLOW", f"The headers did not come within {self.client_timeout:g} seconds."
            )
        else:
            self.transport.close()

    def _watch_writes(self, size: int) -> None:
        self._write_check = self.loop.call_later(self.client_timeout, self._check_writes, size)

    def _check_writes(self, before: int) -> None:
        """Cut off a client that leaves its response unread."""
        self._write_check = None
        size = self._line.get_write_buffer_size()
        if size and before - size < _LEAST_READ:
            self._cut()
        else:
            self._watch_writes(size)

    def _cut(self) -> None:
        """Reset the connection, and drop what is buffered for it here and in the kernel."""
        if (line := self._line.get_extra_info("socket")) is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._line.abort()

    def _stop_write_check(self) -> None:
        if self._write_check is not None:
            self._write_check.cancel()
            self._write_check = None

    def _check_encoding(self) -> bool:
        """Refuse a body that is encoded in another way than chunked, or whose length others may take for another one.

        The parser takes any list that ends with "chunked", and does not decode the rest.
        """
        lists = [value for name, value in self.headers if name == b"transfer-encoding"]
        codings = [each.strip().lower() for each in b",".join(lists).split(b",")]
        has_length = any(name == b"content-length" for name, _ in self.headers)
        if has_length or self.parser.get_http_version() == "1.0" or codings.count(b"chunked") != 1:
            self.send_400_response("")
        elif codings != [b"chunked"]:
            status = HTTPStatus.NOT_IMPLEMENTED
            self._refuse(status, "REFUSED", "The only Transfer-Encoding of a body may be chunked.")
        return not self._is_refused

    def _refuse_busy(self) -> None:
        self._refuse(
            HTTPStatus.SERVICE_UNAVAILABLE, "BUSY", "There are too many connections: try again later."
        )

    def _refuse(self, status: HTTPStatus, code: str, message: str) -> None:
        """Send an error in place of a response, and close the connection."""
        self._stop_waiting()
        self._is_refused = True
        self.limits.set_idle(self)  # it may linger, and a request before this one may be under way
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # its route waits for the rest of the request
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
                return
        request_id = f"req_{token_hex(12)}"
        body = serializers.encode(
            {"requestId": request_id, "error": {"code": code, "message": message}}
        ).encode()
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            "X-Request-Id": request_id,
            **({"Retry-After": "2"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}),
            **ON_EVERYTHING,
        }
        lines = [
            f"HTTP/1.1 {status.value} {status.phrase}",
            *(f"{name}: {text}" for name, text in headers.items()),
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        self.transport.close()
