"""Clusters that are away, not installed or restarted, and nodes that are lost: the job waits, and is never stuck."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import pickle
import signal
import socket
from pathlib import Path

import pytest
from tests.clusters import cluster_steps
from tests.clusters.conftest import LocalCluster, app_on, descendants, free_port, require_client
from tests.clusters.test_steps_on_clusters import begun, ended_patiently, released_because
from tests.worker.world import ended, fetch, until, verbs, working

from kairos import Kairos
from kairos.errors import BadDefinition, ConfigError, MissingExtra
from kairos.worker.clusters import pool, task

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(params=cluster_steps.KINDS)
def kind(request):
    require_client(request.param)
    return request.param


async def test_a_cluster_that_cannot_be_reached_hands_jobs_back_raises_an_alarm_and_serves_once_it_is_there(
    database, kind, monkeypatch
):
    monkeypatch.setattr(pool, "LONGEST_PAUSE", 2.0)
    cluster = LocalCluster(kind, free_port())
    app = app_on(database, cluster)

    @app.job(name=f"beside_{kind}")  # both kinds share the registry of the program
    async def beside() -> str:
        return "done"

    try:
        async with working(app, concurrency=2):
            jobs = [
                await app.enqueue(getattr(cluster_steps, f"brief_{kind}").call(number=n)) for n in range(4)
            ]
            reason = await released_because(app, jobs[0].id)
            assert f"The {kind} cluster at {cluster.address} cannot be used" in reason
            assert (await ended(app, (await beside.enqueue()).id)).output == "done"
            noted = "select subject, detail from kairos.incidents where kind = 'runner_unavailable'"
            raised = "select subject from kairos.alarms where kind = 'runner_unavailable'"

            async def told():
                return await fetch(app, noted) or await fetch(app, raised)

            assert (await until(told))[0]["subject"] == kind
            cluster.start()
            assert [(await ended_patiently(app, job.id)).output for job in jobs] == [0, 1, 2, 3]
            assert {(await app.get(job.id)).attempt for job in jobs} == {0}
    finally:
        cluster.stop()


async def test_while_a_cluster_does_not_answer_its_steps_are_not_timed_out_and_are_handed_back_at_last(
    database, kind
):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        app = app_on(database, LocalCluster(kind, silent.getsockname()[1]))

        @app.job(name=f"slow_beside_{kind}", timeout="2s")
        async def slow() -> None:
            await asyncio.sleep(3600)

        async with working(app, concurrency=2):
            far = await app.enqueue(getattr(cluster_steps, f"hang_{kind}").call(folder=""))
            (client,) = await until(clients)
            near = await ended(app, (await slow.enqueue()).id)
            assert near.error_code == "STEP_TIMEOUT"  # so the time of the other step would be over too
            assert (await app.get(far.id)).state == "running"
            os.kill(client, signal.SIGKILL)
            assert f"The {kind} cluster at" in await released_because(app, far.id)


def clients():
    """The processes of this one that are clients of clusters."""
    return [
        pid
        for pid in descendants(os.getpid())
        if b"kairos.worker.clusters.bridge" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


async def started(app, kind, folder):
    """Enqueue a job that waits for the file `go`, and wait until its step runs on the cluster."""
    job = await app.enqueue(getattr(cluster_steps, f"talk_then_wait_{kind}").call(folder=str(folder)))
    await begun(folder)
    return job


async def went_after_release(app, job_id):
    """Require that a job ends well without a failed attempt, after it was handed back."""
    job = await ended_patiently(app, job_id)
    assert (job.output, job.attempt) == ("went", 0)
    assert set(await verbs(app, job_id)) == {"release", "done"}


async def test_a_cluster_that_is_restarted_hands_back_what_ran_there_and_the_jobs_run_again(
    database, kind, tmp_path
):
    cluster = LocalCluster(kind).start()
    app = app_on(database, cluster)
    try:
        async with working(app):
            job = await started(app, kind, tmp_path)
            cluster.stop()
            reason = await released_because(app, job.id)
            assert f"{kind} cluster" in reason
            (tmp_path / "go").touch()
            cluster.start()
            await went_after_release(app, job.id)
    finally:
        cluster.stop()


async def test_a_step_whose_node_is_lost_is_handed_back_and_runs_on_another_node(database, kind, tmp_path):
    cluster = LocalCluster(kind, apart=True).start()
    app = app_on(database, cluster)
    try:
        async with working(app):
            job = await started(app, kind, tmp_path)
            cluster.lose_node()
            assert "lost step 'run'" in await released_because(app, job.id)
            (tmp_path / "go").touch()
            cluster.add_node()
            await went_after_release(app, job.id)
    finally:
        cluster.stop()


def test_a_node_without_the_code_says_what_is_missing():
    request = {
        "versions": task.versions(),
        "path": ["/nowhere"],
        "module": "no_such_module",
        "main": None,
        "action": ("a", 1),
    }
    envelope = pickle.loads(task.run("1", pickle.dumps(request), lambda *_: None))
    assert envelope["unfit"] == "ModuleNotFoundError: No module named 'no_such_module'"


def test_a_program_that_is_no_module_travels_as_its_source():
    source = (
        "from kairos import Kairos\n"
        "app = Kairos('postgresql:///unused')\n"
        "@app.job(runs_in='ray')\n"
        "def double(number: int) -> int:\n"
        "    return 2 * number\n"
    )
    context = {"id": 1, "action": "double", "version": 1, "attempt": 0, "lease": 1, "timed_out": ()}
    request = {
        "versions": task.versions(),
        "path": [],
        "module": "__main__",
        "main": "/nowhere/program.py",
        "source": source,
        "action": ("double", 1),
        "step": "run",
        "state": '{"number": 4}',
        "hide": frozenset(),
        "inbox": [],
        "context": context,
    }
    envelope = pickle.loads(task.run("1", pickle.dumps(request), lambda *_: None))
    assert pickle.loads(envelope["answer"])["value"] == 8


@pytest.mark.parametrize("kind", cluster_steps.KINDS)
def test_a_function_that_nodes_could_not_import_is_refused_where_it_is_declared(kind):
    app = Kairos("postgresql:///unused")
    with pytest.raises(BadDefinition, match=f"cannot be sent to '{kind}'.*top level of its module"):

        @app.job(runs_in=kind)
        def local() -> None: ...

    with pytest.raises(BadDefinition, match="is an async def and cannot run in"):
        app.job(runs_in=kind)(released_because)


@pytest.mark.parametrize("kind", cluster_steps.KINDS)
async def test_a_worker_refuses_to_start_without_the_client_or_the_address_of_its_cluster(
    database, kind, monkeypatch
):
    app = Kairos(database)
    app.job(name="far", runs_in=kind, queue="heavy")(cluster_steps.brief)
    real = importlib.util.find_spec
    async with app:
        with monkeypatch.context() as missing:
            missing.setattr("kairos.extras.find_spec", lambda name: real(name) if name == "fastapi" else None)
            with pytest.raises(
                MissingExtra, match=rf"runs in '{kind}'.*pip install 'kairos-scheduler\[{kind}\]'"
            ):
                await app.worker(queues=["heavy"]).start()
            async with app.worker(queues=["light"]):
                pass
        monkeypatch.setattr("kairos.extras.find_spec", lambda name: real("json"))
        with pytest.raises(ConfigError, match=f"has no address: set KAIROS_{kind.upper()}_ADDRESS"):
            await app.worker(queues=["heavy"]).start()
