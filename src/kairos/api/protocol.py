"""How a connection is read: headers within a time and a size, or the connection ends; refusals in the envelope."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from secrets import token_hex
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kairos import documents
from kairos.api.guard import ON_EVERYTHING

# In the scope's extensions: a call that ends the connection at once, whatever is still buffered for its reader.
CUT = "kairos.cut"
_LARGEST_HEADERS = 64 * 1024


class Protocol(HttpToolsProtocol):
    """uvicorn's, which by itself waits for ever for headers of any length; `limits` makes one of its own."""

    patience = 20.0
    most = 1000

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_headers = True
        self._read = 0
        self._deadline: asyncio.TimerHandle | None = None

    @classmethod
    def limits(cls, patience: float, most: int) -> type[Protocol]:
        return type("Protocol", (cls,), {"patience": patience, "most": most})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._refuse(
                HTTPStatus.SERVICE_UNAVAILABLE, "BUSY", "There are too many connections: try again later."
            )
        else:
            self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        was_in_headers = self._in_headers
        super().data_received(data)
        # Of what begins in the middle of a chunk, the chunks after it are counted: nobody knows where it began.
        self._read += len(data) if was_in_headers else 0
        if self._in_headers and self._read > _LARGEST_HEADERS and not self.transport.is_closing():
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            self._refuse(status, "TOO_LARGE", f"The headers are larger than {_LARGEST_HEADERS} bytes.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {CUT: self.transport.abort}  # type: ignore[dict-item]
        self._in_headers = True
        self._read = 0
        self._await_headers()

    def on_headers_complete(self) -> None:
        self._in_headers = False
        self._stop_waiting()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, "REFUSED", "That is not a request in HTTP.")

    def _await_headers(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.patience, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            status = HTTPStatus.REQUEST_TIMEOUT
            self._refuse(status, "TOO_SLOW", f"The headers did not come within {self.patience:g} seconds.")

    def _refuse(self, status: HTTPStatus, code: str, message: str) -> None:
        """Answer before any route could, and end the connection."""
        self._stop_waiting()
        request_id = f"req_{token_hex(12)}"
        body = documents.encode(
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
