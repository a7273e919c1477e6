"""An app belongs to the event loop that opened it: another one is refused before anything is sent."""

from __future__ import annotations

import asyncio

import pytest
from tests.worker.world import ended, working

from kairos import Kairos
from kairos.errors import BadRequest


async def test_another_event_loop_is_refused_and_nothing_is_sent(app: Kairos) -> None:
    @app.job
    async def child() -> None: ...

    async with app:
        await child.enqueue()
        with pytest.raises(BadRequest, match="open on another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(child.enqueue()))
        assert len(await app.jobs()) == 1


async def test_a_sync_step_that_runs_an_event_loop_of_its_own_fails_by_name_and_harms_no_other(
    app: Kairos,
) -> None:
    @app.job
    async def child() -> None: ...

    @app.job
    def parent() -> int:
        return int(asyncio.run(child.enqueue()).id)

    async with working(app):
        jobs = [await parent.enqueue() for _ in range(10)]
        found = [await ended(app, job.id) for job in jobs]
        assert {job.state for job in found} == {"failed"}
        assert all("open on another event loop" in (job.error or "") for job in found)
        assert len(await app.jobs(action="child")) == 0
        assert (await ended(app, (await child.enqueue()).id)).state == "success"
