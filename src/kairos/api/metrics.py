"""The Prometheus metrics of this process: requests, their durations, and readers of event streams."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics in a registry of their own, apart from those of a program that mounts the service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self.requests = Counter(
            "kairos_http_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "kairos_http_request_duration_seconds",
            "From a request's arrival to the first byte of its answer.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.readers = Gauge("kairos_stream_readers", "Event streams being read.", registry=self.registry)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
