"""Lines that a cluster delivers after the answer of their step, or never."""

from __future__ import annotations

import asyncio
import os
import pickle

import pytest
from tests.clusters import cluster_steps
from tests.clusters.conftest import require_client
from tests.worker.world import ended, working

from kairos import Kairos
from kairos.worker.clusters import bridge, pool
from kairos.worker.pickle_pipe import framed, receive_sync
from kairos.worker.step_process import encode


class Negligent:
    """A cluster that answers before it delivers the second line, and never delivers the third."""

    async def connect(self, address, deliver):
        self._deliver = deliver
        return address

    async def run(self, token, body):
        self._bring(token, "first")
        asyncio.get_running_loop().call_later(0.01, self._bring, token, "second")
        return pickle.dumps({"sent": 3})

    def _bring(self, token, line):
        self._deliver(pickle.dumps({"of": token, "batch": [("log", ("info", line, None, None))]}))

    async def check(self):
        """It is always there."""


async def test_late_lines_come_before_the_answer_and_missing_ones_are_counted(monkeypatch):
    monkeypatch.setattr(bridge, "LATE_TURNS", 50)
    to_bridge, from_bridge = os.pipe(), os.pipe()
    with os.fdopen(from_bridge[0], "rb") as answers, os.fdopen(to_bridge[1], "wb", buffering=0) as requests:
        serving = asyncio.create_task(
            bridge.Bridge(Negligent(), to_bridge[0], from_bridge[1]).serve("nowhere")
        )
        requests.write(framed(pickle.dumps({"run": "1", "body": b""})))
        up, first, second, answer = [await asyncio.to_thread(receive_sync, answers) for _ in range(4)]
        serving.cancel()
        await asyncio.wait([serving])
    assert up == {"up": "nowhere"}
    assert [message["batch"][0][1][1] for message in (first, second)] == ["first", "second"]
    assert answer == {"of": "1", "envelope": {"sent": 3}, "missing": 1}


@pytest.mark.parametrize("kind", cluster_steps.KINDS)
async def test_the_log_of_a_job_says_how_many_of_its_lines_the_cluster_did_not_deliver(
    database, kind, monkeypatch
):
    require_client(kind)

    class Connection:
        """Answers each step at once, with three of its lines missing."""

        is_open = True

        def __init__(self, *_):
            pass

        async def open(self):
            pass

        def submit(self, body, ctx):
            done = {"value": 5, "error": None, "taken": [], "spawned": [], "reported": None}
            answer = asyncio.get_running_loop().create_future()
            answer.set_result({"envelope": {"answer": encode(done), "rest": []}, "missing": 3})
            return "1", answer

        async def close(self):
            pass

    monkeypatch.setattr(pool, "Connection", Connection)
    app = Kairos(database, **{f"{each}_address": "127.0.0.1:9" for each in cluster_steps.KINDS})
    app.registry = cluster_steps.app.registry
    async with working(app):
        job = await app.enqueue(getattr(cluster_steps, f"brief_{kind}").call(number=5))
        assert (await ended(app, job.id)).output == 5
        (row,) = await app.logs(job.id)
    assert (row.level, row.line) == ("error", "3 lines were dropped: the cluster did not deliver them.")
