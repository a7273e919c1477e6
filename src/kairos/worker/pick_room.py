"""Decide how many more jobs a worker claims: what its lanes start soon, so that slow jobs are never hoarded."""

from __future__ import annotations

from kairos.worker.pace import Pace

# A statement that changes jobs costs half a millisecond before its first row: it opens 25 indexes, and reads checks and
# triggers (decision 0079).
MAX_BATCH = 400
# How far ahead of the lanes to claim: the jobs that they finish in this time.
_AHEAD_SECONDS = 0.04
# This many outcomes may wait for their commit, besides those of the lanes, before nothing more is claimed.
_MOST_UNCOMMITTED = 1000


def room_for_claims(concurrency: int, pace: Pace, load: int, backlog: int, leases_left: int) -> int:
    """Return how many jobs to claim; zero or less: none.

    `load` are the claims that run or wait for a lane, `backlog` the outcomes that wait for their commit, and
    `leases_left` the jobs for which the keeper has room.
    """
    ahead = concurrency + min(2 * MAX_BATCH, pace.within(_AHEAD_SECONDS))
    uncommitted = concurrency + _MOST_UNCOMMITTED - backlog
    return min(ahead - load, uncommitted, MAX_BATCH, leases_left)
