"""Traces from a request through its jobs to their children, and one line for each request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tests.api.service_process import Served
from tests.captured_logs import capture_logs

from kairos import Backoff, Context, Kairos, Next, step, telemetry
from kairos.testing import drain

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """A program that has set a tracer provider; the real setter takes one once in a process."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in spans.get_finished_spans() if span.name == name]
    return found


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


async def trace_of(app: Kairos, job: int) -> str | None:
    async with app.store.connection() as connection:
        found: str | None = await connection.fetchval(
            "select trace from kairos.gen_durable where id = $1", job
        )
        return found


async def test_a_request_its_job_and_the_jobs_children_are_one_trace(
    app: Kairos, http: httpx2.AsyncClient, spans: InMemorySpanExporter
) -> None:
    @app.job
    async def child() -> None: ...

    @app.machine("order")
    class Order:
        @step(initial=True)
        async def charge(self, ctx: Context) -> Any:
            ctx.spawn(child.call())
            return Next("ship")

        @step
        def ship(self, ctx: Context) -> Any:
            from kairos import Done

            trace.get_current_span().set_attribute("seen.in.thread", True)
            return Done()

    answer = await http.post("/api/jobs", json={"action": "order"}, headers={"traceparent": PARENT})
    assert answer.status_code == 202
    assert await drain(app) == 3
    request = named(spans, "POST /api/jobs")
    charge, ship = named(spans, "order charge"), named(spans, "order ship")
    assert request.kind is SpanKind.SERVER
    assert f"{request.context.trace_id:032x}" == PARENT[3:35]
    assert f"{parent_of(request):016x}" == PARENT[36:52]
    assert parent_of(charge) == parent_of(ship) == request.context.span_id
    assert parent_of(_child(spans)) == charge.context.span_id
    assert {span.context.trace_id for span in (charge, ship, _child(spans))} == {request.context.trace_id}
    assert charge.kind is SpanKind.CONSUMER
    assert dict(charge.attributes or {}) == {
        "kairos.job.id": answer.json()["job"]["id"], "kairos.action": "order", "kairos.version": 1,
        "kairos.step": "charge", "kairos.attempt": 0, "kairos.queue": "default", "kairos.outcome": "next",
    }  # fmt: skip
    assert (ship.attributes or {})["seen.in.thread"] is True
    assert (request.attributes or {})["http.response.status_code"] == 202
    assert (request.attributes or {})["http.route"] == "/api/jobs"


def _child(spans: InMemorySpanExporter) -> ReadableSpan:
    (found,) = [
        span for span in spans.get_finished_spans() if (span.attributes or {}).get("kairos.action") == "child"
    ]
    return found


async def test_an_error_is_told_by_its_kind_and_never_with_its_words(
    app: Kairos, spans: InMemorySpanExporter
) -> None:
    @app.job(retry=Backoff(attempts=2, base=0))
    async def fails(token: str) -> None:
        raise ValueError(f"cannot use {token}")

    await fails.enqueue("s3cret")
    await drain(app)
    attempts = spans.get_finished_spans()
    assert [(span.attributes or {})["kairos.outcome"] for span in attempts] == ["retry", "stop"]
    assert [(span.attributes or {})["kairos.attempt"] for span in attempts] == [0, 1]
    for span in attempts:
        assert span.status.status_code is StatusCode.ERROR
        assert (span.attributes or {})["error.type"] == "ValueError"
        assert "s3cret" not in span.to_json()


async def test_what_is_enqueued_within_a_span_belongs_to_it(app: Kairos, spans: InMemorySpanExporter) -> None:
    @app.job
    async def act() -> None: ...

    with trace.get_tracer("test").start_as_current_span("outer") as outer:
        job = await act.enqueue()
    await drain(app)
    (ran,) = [span for span in spans.get_finished_spans() if span.name.startswith("act ")]
    assert parent_of(ran) == outer.get_span_context().span_id
    assert job.trace == await trace_of(app, job.id)


async def test_without_a_provider_no_span_is_made_and_a_trace_is_still_carried_on(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    @app.job
    async def child() -> None: ...

    @app.job
    async def act(ctx: Context) -> None:
        ctx.spawn(child.call())

    assert telemetry.tracer() is None
    answer = await http.post("/api/jobs", json={"action": "act"}, headers={"traceparent": PARENT})
    job = answer.json()["job"]["id"]
    await drain(app)
    assert await trace_of(app, job) == PARENT
    assert await trace_of(app, job + 1) == PARENT
    plain = await act.enqueue()
    assert plain.trace is None


@pytest.mark.parametrize("header", ["", "nonsense", "00-" + "0" * 32 + "-b7ad6b7169203331-01", "x" * 600])
async def test_a_traceparent_that_cannot_be_read_is_ignored(
    app: Kairos, http: httpx2.AsyncClient, header: str
) -> None:
    @app.job
    async def act() -> None: ...

    answer = await http.post("/api/jobs", json={"action": "act"}, headers={"traceparent": header})
    assert answer.status_code == 202
    assert await trace_of(app, answer.json()["job"]["id"]) is None


async def test_where_nobody_traces_a_step_goes_the_plain_way(
    app: Kairos, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job
    async def act() -> None: ...

    def refuse(*_: Any) -> Any:
        raise AssertionError("a span was made")

    monkeypatch.setattr(telemetry, "span", refuse)
    await act.enqueue()
    assert await drain(app) == 1


async def test_each_request_is_one_line_without_query_or_body(
    served: Served, http: httpx2.AsyncClient
) -> None:
    with capture_logs() as lines:
        await http.get("/api/jobs/77?token=s3cret", headers={"X-Request-Id": "req-1"})
        await http.post("/api/jobs", json={"action": "none", "input": {"password": "s3cret"}})
        await http.get("/healthz")
    told = [line for line in lines if line["event"] == "request"]
    assert [(line["method"], line["route"], line["status"], line["caller"]) for line in told] == [
        ("GET", "/api/jobs/{id}", 422, "local"),
        ("POST", "/api/jobs", 422, "local"),
    ]
    assert told[0]["request_id"] == "req-1" and told[0]["ms"] > 0
    assert "s3cret" not in str(lines)


async def test_a_request_that_nobody_may_make_is_told_too(serve: Any) -> None:
    async with serve(open=False) as served:
        with capture_logs() as lines:
            await served.http.get("/api/jobs", headers={"Authorization": "Bearer kr_abc_s3cret"})
        (line,) = [line for line in lines if line["event"] == "request"]
        assert (line["status"], line["caller"]) == (401, "anonymous")
        assert "s3cret" not in str(lines)
