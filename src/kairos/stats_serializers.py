"""The JSON documents of stats and series; HTTP responses and `--json` use the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from typing import Any

from kairos.fsm.lifecycle import LIVE
from kairos.histogram import percentiles
from kairos.operations.stats import COUNTS, Slot, Stats
from kairos.shapes.queue import Queue

# The most actions and the most queues of one answer: with 20,000 queues it would have 6 MB.
MOST_NAMES = 500


def stats(stats: Stats) -> dict[str, Any]:
    """Of too many actions those with the most ended jobs are kept, of too many queues those with the most live ones."""
    queues = _largest(stats.queues)
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
        "actions": [{"action": slot.action, **_counts(slot)} for slot in stats.actions[:MOST_NAMES]],
        "actionsOmitted": max(0, len(stats.actions) - MOST_NAMES),
        "queues": [
            {
                "name": load.name,
                **{state: getattr(load, state) for state in LIVE},
                "oldestPendingAt": load.oldest_at,
            }
            for load in queues
        ],
        "queuesOmitted": len(stats.queues) - len(queues),
        "next": [{"schedule": name, "at": at} for name, at in stats.upcoming],
        "workers": stats.workers,
        "alarms": stats.alarms,
    }


def _largest(queues: Sequence[Queue]) -> Sequence[Queue]:
    """Return the queues with the most live jobs, in the order in which they came."""
    if len(queues) <= MOST_NAMES:
        return queues
    kept = {
        load.name
        for load in nlargest(MOST_NAMES, queues, key=lambda load: sum(getattr(load, state) for state in LIVE))
    }
    return [load for load in queues if load.name in kept]


def slot(slot: Slot) -> dict[str, Any]:
    share = round(slot.failed / slot.ended, 4) if slot.ended else None
    return {"at": slot.at, **_counts(slot), "failureShare": share}


def _counts(slot: Slot) -> dict[str, Any]:
    counts = {name: getattr(slot, name) for name in COUNTS}
    return {**counts, "wait": percentiles(slot.waits), "run": percentiles(slot.runs)}
