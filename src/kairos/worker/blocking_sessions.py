"""Find the sessions that lock a job's row, by waiting for it briefly and asking Postgres; end those that are frozen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kairos.logger import Logger
from kairos.store.async_store import AsyncStore, Connection
from kairos.store.driver_errors import LOCKED
from kairos.store.query import Query, Row

log = Logger("kairos.worker")

_LOCK_WAIT = "300ms"
_POLL_INTERVAL = 0.02


async def find_blockers(store: AsyncStore, job_id: int) -> Sequence[Row]:
    """Return the sessions that lock a job's row; none if it is free or becomes free at once.

    Postgres shows the holder of a row lock only while another session waits for it, so a session of ours waits.
    """
    connection = await store.connect()
    try:
        async with connection.transaction():
            (limit,) = await store.on(connection, Query("limit_lock_wait", (_LOCK_WAIT,)))
            waiting = asyncio.ensure_future(_wait_for(store, connection, job_id))
            try:
                while not waiting.done():
                    if found := await store.run(Query("find_blockers", (limit["pid"],))):
                        return found
                    await asyncio.sleep(_POLL_INTERVAL)
            finally:
                await waiting
    except LOCKED:
        return ()
    finally:
        await connection.close()
    return ()


async def _wait_for(store: AsyncStore, connection: Connection, job_id: int) -> None:
    try:
        async with connection.transaction():
            await store.on(connection, Query("lock_job", (job_id,)))
    except LOCKED:
        return


async def end_frozen(store: AsyncStore, blockers: Sequence[Row]) -> bool:
    """End those of the sessions that are Kairos's own and frozen; return whether there were any."""
    frozen = [row for row in blockers if row["frozen"]]
    if frozen:
        pids, began = [row["pid"] for row in frozen], [row["backend_start"] for row in frozen]
        log_ended(await store.run(Query("end_sessions", (pids, began))))
    return bool(frozen)


def log_ended(sessions: Sequence[Row]) -> None:
    for row in sessions:
        log.error("ended the session of a frozen worker", pid=row["pid"], session=row["application_name"])


def describe(blockers: Sequence[Row]) -> str:
    """Describe the sessions: pid, application, state, and since when they are in it."""
    return " and ".join(
        f"pid {row['pid']} ({row['application_name'] or row['usename']}, {row['state']}{_since(row)})"
        for row in blockers
    )


def _since(session: Row) -> str:
    """Postgres hides this of another role's session, unless ours may read all statistics."""
    return f" since {session['state_change']:%Y-%m-%d %H:%M:%S}Z" if session["state_change"] else ""
