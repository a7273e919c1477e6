"""The JSON documents of stats and series; HTTP responses and `--json` use the same ones."""

from __future__ import annotations

from typing import Any

from kairos.fsm.lifecycle import LIVE
from kairos.histogram import percentiles
from kairos.operations.stats import COUNTS, Slot, Stats


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
                **{state: getattr(load, state) for state in LIVE},
                "oldestPendingAt": load.oldest_at,
            }
            for load in stats.queues
        ],
        "next": [{"schedule": name, "at": at} for name, at in stats.upcoming],
        "workers": stats.workers,
        "alarms": stats.alarms,
    }


def slot(slot: Slot) -> dict[str, Any]:
    share = round(slot.failed / slot.ended, 4) if slot.ended else None
    return {"at": slot.at, **_counts(slot), "failureShare": share}


def _counts(slot: Slot) -> dict[str, Any]:
    counts = {name: getattr(slot, name) for name in COUNTS}
    return {**counts, "wait": percentiles(slot.waits), "run": percentiles(slot.runs)}
