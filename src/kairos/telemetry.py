"""OpenTelemetry traces: a job stores the span it was enqueued in, and each of its steps is a child span.

Only the OpenTelemetry API is used. Without a tracer provider there are no spans and no cost; a job still passes on
the trace it was given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry import trace


def _in_use() -> bool:
    """Whether the program may have set a provider: it must have imported OpenTelemetry, or named one by variable."""
    return "opentelemetry.trace" in sys.modules or _is_named()


@cache
def _is_named() -> bool:
    return "OTEL_PYTHON_TRACER_PROVIDER" in os.environ


def tracer() -> trace.Tracer | None:
    """Return Kairos's tracer, or None if the program has set no provider."""
    if not _in_use():
        return None
    from opentelemetry import trace

    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider.get_tracer("kairos")


def traceparent() -> str | None:
    """Return the current span as a W3C `traceparent`, or None."""
    if not _in_use():
        return None
    from opentelemetry import trace

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
    """Open a span as the current one, as a child of `parent` if that is valid.

    Only the class of an error is recorded: its message may quote a job's arguments.
    """
    from opentelemetry import context as contexts
    from opentelemetry import trace

    context = _extracted(parent) if parent else contexts.Context()
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
    from opentelemetry import trace

    span.set_attribute("error.type", kind)
    span.set_status(trace.Status(trace.StatusCode.ERROR, kind))


@contextmanager
def in_trace(parent: str) -> Iterator[None]:
    """Continue the trace `parent` without creating a span."""
    from opentelemetry import context as contexts

    token = contexts.attach(_extracted(parent))
    try:
        yield
    finally:
        contexts.detach(token)


def _extracted(parent: str) -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": parent})


def __getattr__(name: str) -> Any:
    if name == "SpanKind":
        from opentelemetry.trace import SpanKind

        return SpanKind
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
