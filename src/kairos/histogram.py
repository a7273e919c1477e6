"""Histograms of durations on a log scale: few buckets, any percentile to within 10 percent.

Bucket 0 holds what took up to 0.1 ms; bucket n what took from 0.1 · 1.2ⁿ⁻¹ up to 0.1 · 1.2ⁿ ms. The middle of a bucket
is at most 9.6 percent from anything in it. `kairos.bucket` in the database is the same function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, sqrt

FLOOR_MS = 0.1
RATIO = 1.2
PERCENTILES = (50, 95, 99)


def percentiles(counts: Mapping[int, int]) -> dict[str, float | None]:
    """Return p50, p95 and p99 in milliseconds; None if nothing was measured."""
    total = sum(counts.values())
    answer: dict[str, float | None] = {}
    for percent in PERCENTILES:
        rank = ceil(total * percent / 100)
        answer[f"p{percent}"] = None if total == 0 else round(_at_rank(counts, rank), 3)
    return answer


def merged(each: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Add up several histograms."""
    total: dict[int, int] = {}
    for counts in each:
        for bucket, count in counts.items():
            total[bucket] = total.get(bucket, 0) + count
    return total


def upper_ms(bucket: int) -> float:
    """Return the upper bound of a bucket, in milliseconds."""
    return FLOOR_MS * RATIO**bucket


def middle_ms(bucket: int) -> float:
    """The value that represents a bucket."""
    return FLOOR_MS if bucket == 0 else upper_ms(bucket) / sqrt(RATIO)


def _at_rank(counts: Mapping[int, int], rank: int) -> float:
    seen = 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= rank:
            return middle_ms(bucket)
    raise AssertionError("a rank beyond the count")
