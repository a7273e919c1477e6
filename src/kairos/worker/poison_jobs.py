"""Find the job that makes the picks of a queue fail, and remove it from the queue, so that the others run."""

from __future__ import annotations

from datetime import timedelta

from kairos.store.async_store import AsyncStore
from kairos.store.driver_errors import PASSING, REFUSED
from kairos.store.query import Query
from kairos.worker.claim import Claim
from kairos.worker.settle import Settlement, release, set_aside

# The delay before a job that was released, because it can be read, is due again.
_PAUSE = timedelta(seconds=1)


async def isolate_first_job(
    store: AsyncStore, worker: str, queue: str, lease: timedelta
) -> Settlement | None:
    """Claim the next job of a queue and return its settlement; None if there is none or it cannot be claimed.

    The job is set aside only if reading it by itself fails too. Otherwise it is released: the pick failed for another
    reason, or at a job that another worker has picked meanwhile.
    """
    try:
        rows = await store.run(Query("pick_poison_job", (queue, worker, lease)))
    except PASSING:
        raise
    except REFUSED:
        return None
    if not rows:
        return None
    (row,) = rows
    claim = Claim(
        queue,
        row["id"],
        row["lease"],
        row["fsm"],
        row["fsm_version"],
        row["step"],
        "{}",
        row["attempt"],
        row["partition_key"],
        None,
        row["reply_to"],
    )
    try:
        await store.run(Query("read_picked_job", (claim.id,)))
    except PASSING:
        raise
    except REFUSED as error:
        return set_aside(claim, "its row cannot be read", error)
    return release(claim, "a pick that included it failed", _PAUSE)
