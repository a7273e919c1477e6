"""Traces: a job carries the span it was asked for in, and each of its steps is a span within that.

Only the OpenTelemetry API is used. Where the program has set no tracer provider there are no spans and nothing is
paid for them; a job still carries on whatever trace it was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_W3C = TraceContextTextMapPropagator()


def tracer() -> trace.Tracer | None:
    """The tracer of Kairos, or None where the program has set no provider."""
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider.get_tracer("kairos")


def traceparent() -> str | None:
    """The present span as a W3C `traceparent`, or None outside of any."""
    span = trace.get_current_span()
    if span is trace.INVALID_SPAN:
        return None
    here = span.get_span_context()
    if not here.is_valid:
        return None
    return f"00-{here.trace_id:032x}-{here.span_id:016x}-{here.trace_flags:02x}"


@contextmanager
def span(
    tracer: trace.Tracer,
    name: str,
    kind: trace.SpanKind,
    parent: str | None,
    attributes: Mapping[str, Any],
) -> Iterator[trace.Span]:
    """A span that is the present one meanwhile, within `parent` where that can be read.

    An error that passes through is told by its class alone: a message may quote what a job was given.
    """
    context = _W3C.extract({"traceparent": parent}) if parent else contexts.Context()
    begun = tracer.start_span(name, context, kind, attributes)
    token = contexts.attach(trace.set_span_in_context(begun, context))
    try:
        yield begun
    except BaseException as error:
        failed(begun, type(error).__name__)
        raise
    finally:
        contexts.detach(token)
        begun.end()


def failed(span: trace.Span, kind: str) -> None:
    """Mark a span as failed by an error of this kind."""
    span.set_attribute("error.type", kind)
    span.set_status(trace.Status(trace.StatusCode.ERROR, kind))


@contextmanager
def carried(parent: str) -> Iterator[None]:
    """What is done here belongs to `parent`, though nobody here makes spans."""
    token = contexts.attach(_W3C.extract({"traceparent": parent}))
    try:
        yield
    finally:
        contexts.detach(token)


SpanKind = trace.SpanKind
