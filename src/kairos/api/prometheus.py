"""The Prometheus metrics from the database; the number of label values is bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from kairos.fsm.lifecycle import LIVE, TERMINAL
from kairos.histogram import middle_ms, upper_ms
from kairos.operations.stats import Stats, Total

MOST_NAMES = 200
OTHER = "other"
# Every fourth bucket of `kairos.histogram`, so that each bound is exact: from 0.2 ms to more than a day.
_BOUNDS = range(4, 120, 4)


class DatabaseMetrics(Collector):
    """Expose one `Stats` value as Prometheus metrics."""

    def __init__(self, stats: Stats) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        stats = self._stats
        queues = _kept(load.name for load in sorted(stats.queues, key=lambda load: -load.pending))
        yield InfoMetricFamily(
            "kairos", "The version that serves.", value={"version": version("kairos-scheduler")}
        )
        yield from self._jobs(queues)
        yield from self._ended()
        yield from self._times()
        yield GaugeMetricFamily("kairos_workers", "Workers heard of in the last 30 seconds.", stats.workers)
        yield GaugeMetricFamily("kairos_alarms", "Alarms that are not cleared.", stats.alarms)
        behind = 0.0 if stats.counted_at is None else (stats.now - stats.counted_at).total_seconds()
        yield GaugeMetricFamily(
            "kairos_statistics_behind_seconds", "How far the counters below lag.", max(behind, 0.0)
        )

    def _jobs(self, queues: frozenset[str]) -> Iterator[Metric]:
        jobs = GaugeMetricFamily("kairos_jobs", "Live jobs by queue and state.", labels=("queue", "state"))
        age = GaugeMetricFamily(
            "kairos_oldest_pending_seconds", "How long the oldest due job has waited.", labels=("queue",)
        )
        counts: dict[tuple[str, str], int] = defaultdict(int)
        ages: dict[str, float] = {}
        for load in self._stats.queues:
            name = load.name if load.name in queues else OTHER
            for state in LIVE:
                counts[name, state] += getattr(load, state)
            if load.oldest_at is not None:
                waited = (self._stats.now - load.oldest_at).total_seconds()
                ages[name] = max(ages.get(name, 0.0), waited)
        for labels, number in sorted(counts.items()):
            jobs.add_metric(labels, number)
        for name, seconds in sorted(ages.items()):
            age.add_metric((name,), seconds)
        ended = GaugeMetricFamily("kairos_jobs_ended", "Ended jobs that are still kept.", labels=("state",))
        for state in TERMINAL:
            ended.add_metric((state,), self._stats.states[state])
        yield from (jobs, ended, age)

    def _ended(self) -> Iterator[Metric]:
        for name, what in (
            ("accepted", "Jobs accepted."),
            ("started", "Runs begun."),
            ("retried", "Retries."),
        ):
            family = CounterMetricFamily(f"kairos_jobs_{name}", what, labels=("action",))
            for action, totals in self._by_action():
                family.add_metric((action,), sum(total.counts[name] for total in totals))
            yield family
        finished = CounterMetricFamily(
            "kairos_jobs_finished", "Jobs that came to their end, by which.", labels=("action", "state")
        )
        for action, totals in self._by_action():
            for state in TERMINAL:
                finished.add_metric((action, state), sum(total.counts[state] for total in totals))
        yield finished

    def _times(self) -> Iterator[Metric]:
        """Yield the histograms by queue; by action there would be too many series."""
        names = _kept(total.queue for total in self._stats.totals)
        for name, what in (
            ("wait", "From when a job was due to when a worker took it."),
            ("run", "How long a step ran."),
        ):
            family = HistogramMetricFamily(f"kairos_{name}_seconds", what, labels=("queue",))
            merged: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
            for total in self._stats.totals:
                for bucket, number in (total.waits if name == "wait" else total.runs).items():
                    merged[total.queue if total.queue in names else OTHER][bucket] += number
            for queue, counts in sorted(merged.items()):
                family.add_metric((queue,), *_cumulative(counts))
            yield family

    def _by_action(self) -> Iterator[tuple[str, list[Total]]]:
        names = _kept(total.action for total in self._stats.totals)
        found: dict[str, list[Total]] = defaultdict(list)
        for total in self._stats.totals:
            found[total.action if total.action in names else OTHER].append(total)
        yield from sorted(found.items())


def _kept(names: Iterable[str]) -> frozenset[str]:
    """Return the first `MOST_NAMES` names; all others share the label `other`."""
    return frozenset(list(dict.fromkeys(names))[:MOST_NAMES])


def _cumulative(counts: Mapping[int, int]) -> tuple[list[tuple[str, float]], float]:
    """Return cumulative buckets, and the sum in seconds as estimated from the middles of the buckets."""
    buckets = [
        (f"{upper_ms(bound) / 1000:.6g}", float(sum(n for bucket, n in counts.items() if bucket <= bound)))
        for bound in _BOUNDS
    ]
    buckets.append(("+Inf", float(sum(counts.values()))))
    return buckets, sum(middle_ms(bucket) * n for bucket, n in counts.items()) / 1000
