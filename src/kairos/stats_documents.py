"""Stats and series as programs read them: the same words over HTTP and from `--json`."""

from __future__ import annotations

from typing import Any

from kairos.histogram import percentiles
from kairos.verbs.stats import Slot, Stats

COUNTS = ("accepted", "started", "success", "failed", "expired", "cancelled", "retried")


def stats(stats: Stats) -> dict[str, Any]:
    return {
        "at": stats.now,
        "behind": stats.counted_at,
        "states": stats.states,
        "atLeast": stats.at_least,
        "window": {
            "seconds": stats.seconds,
            "perSecond": round(stats.window.ended / stats.seconds, 3),
            **_counts(stats.window),
        },
        "actions": [{"action": slot.action, **_counts(slot)} for slot in stats.actions],
        "queues": [
            {
                "name": load.name,
                "scheduled": load.scheduled,
                "pending": load.pending,
                "running": load.running,
                "waiting": load.waiting,
                "oldestPendingAt": load.oldest_at,
            }
            for load in stats.queues
        ],
        "next": [{"schedule": name, "at": at} for name, at in stats.upcoming],
        "workers": stats.workers,
        "alarms": stats.alarms,
    }


def slot(slot: Slot) -> dict[str, Any]:
    return {"at": slot.at, **_counts(slot)}


def _counts(slot: Slot) -> dict[str, Any]:
    counts = {name: getattr(slot, name) for name in COUNTS}
    return {**counts, "wait": percentiles(slot.waits), "run": percentiles(slot.runs)}
