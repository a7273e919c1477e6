"""ASGI middleware that records each request: a log line, a span and the metrics."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from opentelemetry.trace import Span, SpanKind
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kairos import telemetry
from kairos.api.metrics import Metrics
from kairos.logger import Logger

log = Logger("kairos.api")

# Probes and scrapes, sent every few seconds: logged only when they fail.
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Instrumentation:
    """The outermost middleware. It records the template of a path, never the path itself, the query or the body."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        parent = Headers(scope=scope).get("traceparent")
        tracer = telemetry.tracer()
        request = _Request(scope, send, self._metrics)
        traced: AbstractContextManager[Span | None] = nullcontext()
        if tracer is not None:
            attributes = {"http.request.method": request.method}
            traced = telemetry.span(tracer, request.method, SpanKind.SERVER, parent, attributes)
        elif parent is not None:
            traced = telemetry.in_trace(parent)  # the jobs of this request belong to its trace
        try:
            with traced as span:
                await self._app(scope, receive, request)
                if span is not None:
                    request.describe(span)
        finally:
            request.finish()


class _Request:
    """The record of one request; it is also the `send` that the response passes through."""

    def __init__(self, scope: Scope, send: Send, metrics: Metrics) -> None:
        method = scope["method"]
        self.method = method if method in _METHODS else "OTHER"
        self._scope = scope
        self._send = send
        self._metrics = metrics
        self._begun = time.perf_counter()
        self._status: int | None = None
        self._seconds = 0.0
        self._streams = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._seconds = time.perf_counter() - self._begun
            kind = Headers(raw=message.get("headers", [])).get("content-type", "")
            if kind.startswith("text/event-stream") and self.method != "HEAD":
                self._streams = True
                self._metrics.readers.inc()
        await self._send(message)

    @property
    def route(self) -> str:
        """The template of the path; "(none)" if no route matched."""
        route: str = self._state.get("route", "(none)")
        return route

    @property
    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._scope.get("state", {})
        return state

    def describe(self, span: Span) -> None:
        span.update_name(f"{self.method} {self.route}")
        span.set_attribute("http.route", self.route)
        span.set_attribute("kairos.request.id", self._state.get("request_id", ""))
        if self._status is not None:
            span.set_attribute("http.response.status_code", self._status)
            if self._status >= 500:
                telemetry.failed(span, str(self._status))

    def finish(self) -> None:
        """Count and log the request, once its last byte is sent or the client has left."""
        if self._streams:
            self._metrics.readers.dec()
        status = "none" if self._status is None else str(self._status)
        seconds = self._seconds if self._status is not None else time.perf_counter() - self._begun
        self._metrics.requests.labels(self.method, self.route, status).inc()
        self._metrics.seconds.labels(self.method, self.route).observe(seconds)
        if self.route in _QUIET and status == "200":
            return
        caller = self._state.get("caller")
        log.info(
            "request",
            method=self.method,
            route=self.route,
            status=self._status,
            ms=round(seconds * 1000, 2),
            request_id=self._state.get("request_id"),
            caller=None if caller is None else caller.id,
        )
