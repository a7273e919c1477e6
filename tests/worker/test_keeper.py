"""The keeper believes that a lease is lost only when it has seen so twice: an outcome may have just been committed."""

from __future__ import annotations

import asyncio
import gc
import json
import mmap
import sys
import threading
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.captured_logs import capture_logs
from tests.engine_statements import Hand, Rig, done
from tests.worker.world import until

from kairos import Kairos
from kairos.worker.claim import Claim
from kairos.worker.keeper import Keeper
from kairos.worker.keeper_process import KeeperProcess
from kairos.worker.lease_watch import LeaseWatch
from kairos.worker.leases import SLOT, Leases


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


class Kept:
    """A claim that its worker has committed, without having read the answer yet, and the keeper of that worker."""

    def __init__(
        self, keeper: Keeper, leases: Leases, claim: Claim, said: pytest.CaptureFixture[str]
    ) -> None:
        self.keeper = keeper
        self.leases = leases
        self.claim = claim
        self._said = said

    async def renew(self) -> list[list[int]]:
        """Renew once; answers the leases that the worker is told to be lost."""
        self._said.readouterr()
        assert await asyncio.to_thread(self.keeper.renew)
        lines = [json.loads(line) for line in self._said.readouterr().out.splitlines()]
        return [lost for line in lines for lost in line.get("lost", [])]


@pytest.fixture
async def kept(database: str, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Kept]:
    async with Kairos(database) as app:
        await Rig(app.store).enqueue()
        hand = Hand(app.store, "w1")
        (claim,) = await hand.pick()
        leases = Leases(4)
        leases.hold(claim)
        await hand.commit(done(claim))
        process = KeeperProcess(app.store, "w1", leases, 30, lambda _: None, lambda _: None)
        yield Kept(Keeper(process.config), leases, claim, capsys)


async def test_a_lease_that_ended_by_a_commit_whose_answer_is_on_its_way_is_not_called_lost(
    kept: Kept,
) -> None:
    assert await kept.renew() == []
    kept.leases.drop(kept.claim)  # the answer has arrived
    assert await kept.renew() == []


async def test_a_lease_that_is_still_held_at_the_second_look_is_lost(kept: Kept) -> None:
    assert await kept.renew() == []
    assert kept.keeper.polls_again_soon
    assert await kept.renew() == [[kept.claim.id, kept.claim.lease]]
    assert not kept.keeper.polls_again_soon


async def test_a_worker_whose_keeper_is_silent_renews_its_leases_before_they_expire(database: str) -> None:
    """Whatever holds up the keeper: a signal, a debugger, a disk, a container runtime."""
    async with Kairos(database) as app:
        rig, leases = Rig(app.store), Leases(4)
        await rig.enqueue()
        (claim,) = await Hand(app.store, "w1").pick()
        leases.hold(claim)
        lease, began = timedelta(hours=2), time.monotonic_ns()
        now = began
        silent = KeeperProcess(app.store, "w1", leases, lease.total_seconds(), _ignore, _ignore)
        watch = LeaseWatch(app.store, "w1", leases, silent, lease, _ignore, lambda: now)
        SLOT.pack_into(mmap.mmap(leases.fd, 0), 4 * SLOT.size, began, began, 0)
        renewed = "select lease_expires_at > now() + interval '1 hour' from kairos.gen_durable"
        seen = {}
        for part in (0.4, 0.6):
            now = began + round(part * lease.total_seconds() * 1e9)
            await watch.tick()
            seen[part] = await rig.value(renewed)
        assert seen == {0.4: False, 0.6: True}
        # Of a lease that it lost to another worker it renews nothing.
        await rig.fetch("update kairos.gen_durable set lease = lease + 1, lease_expires_at = now()")
        await watch.tick()
        assert not await rig.value(renewed)
        # What Postgres refuses does not keep it from looking.
        app.store.sql = {
            **app.store.sql,
            "renew_leases": "select 1 / 0, $1::bigint[], $2::bigint[], $3::interval, $4::text",
        }
        assert await watch.tick() == lease.total_seconds() / 6
        leases.close()


def _ignore(_: object) -> None: ...


def test_a_keeper_that_stays_to_hand_back_jobs_leaves_nothing_in_the_event_loop_of_its_worker(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop may be closed at once. What it still held would raise when it is collected, in whatever runs then."""
    raised: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)

    async def stop_unsettled() -> int:
        async with Kairos(database) as app:
            leases = Leases(4)
            process = KeeperProcess(app.store, "w1", leases, 30, lambda _: None, lambda _: None)
            await process.start()
            listening = asyncio.create_task(process.run())
            await asyncio.sleep(0)
            listening.cancel()
            await process.stop(settled=False)
            leases.close()
            return open_files()

    open_before = asyncio.run(stop_unsettled())
    for thread in threading.enumerate():
        if thread.name.startswith(
            "asyncio-waitpid"
        ):  # it would keep a process of asyncio from being collected
            thread.join()
    gc.collect()
    assert not raised
    assert asyncio.run(stop_unsettled()) == open_before


async def test_a_keeper_that_has_died_leaves_no_pipe_open_when_its_worker_stops(database: str) -> None:
    """What is left in the pipe cannot be written, and would raise in whatever runs when the pipe is collected."""
    async with Kairos(database) as app:
        leases = Leases(4)
        before = open_files()
        process = KeeperProcess(app.store, "w1", leases, 30, lambda _: None, lambda _: None)
        await process.start()
        with capture_logs() as lines:
            running = asyncio.create_task(process.run())
            process.replace()
            await until(lambda: [line for line in lines if line["event"].startswith("the keeper died")])
        running.cancel()  # before it starts another one
        await process.stop()
        assert open_files() == before
        leases.close()
