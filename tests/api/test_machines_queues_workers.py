"""Machines, the lifecycle, queues and workers over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest
from pydantic import BaseModel, Field
from tests.api.service_process import serving
from tests.shared_database import database, kept_database, quiet

from kairos import Await, Context, Done, Kairos, Next, operations, step
from kairos.api.schemas.lifecycle import LifecycleAnswer
from kairos.api.schemas.machines import MachineAnswer, MachineList
from kairos.api.schemas.queues import QueueAnswer, QueueList
from kairos.api.schemas.workers import WorkerAnswer, WorkerList
from kairos.fsm import render
from kairos.fsm.lifecycle import SPEC

__all__ = ["database", "kept_database", "quiet"]

INTERNAL = {"http", "command", "kairos.chain", "kairos.webhook"}  # whatever the app brings along


class Parcel(BaseModel):
    size: int = Field(ge=1)
    to: str = Field(max_length=20)


class OrderState(BaseModel):
    order_id: int
    parcels: list[Parcel] = []
    ordered_at: datetime | None = None
    token: UUID | None = None


def register(app: Kairos) -> None:
    @app.job(queue="mail", ttl="1h", redact=["token"], tags=["default tag"], priority=3)
    async def send(ctx: Context, user_id: int, token: str = "") -> int:
        return user_id

    @app.machine("order", queue="orders")
    class Order:
        State = OrderState

        @step(initial=True, to=["ship"])
        async def charge(self, ctx: Context[OrderState]) -> Any:
            return Next("ship")

        @step
        async def ship(self, ctx: Context[OrderState]) -> Any:
            return Done() if ctx.take("delivered") else Await("delivered")

    @app.machine("order", version=2, queue="orders2")
    class Order2:
        State = OrderState

        @step
        async def begin(self, ctx: Context[OrderState]) -> Any:
            return Done()


@pytest.fixture
async def known(database: str) -> AsyncIterator[Kairos]:
    """An app with code, which a worker has registered."""
    async with Kairos(database) as known:
        register(known)
        await known.synchronise()
        yield known


@pytest.mark.usefixtures("known")
async def test_a_service_without_the_code_knows_the_machines_that_workers_registered(
    http: httpx2.AsyncClient,
) -> None:
    answer = (await http.get("/api/machines")).json()
    MachineList.model_validate(answer)
    machines = {each["name"]: each for each in answer["machines"]}
    assert {"send", "order"} <= machines.keys() <= {"send", "order"} | INTERNAL
    send, order = machines["send"], machines["order"]
    assert (send["queue"], send["ttl"], send["redact"], send["steps"]) == ("mail", 3600, ["token"], ["run"])
    assert send["input"]["required"] == ["user_id"]
    assert send["input"]["x-order"] == ["user_id", "token"]
    assert (order["version"], order["versions"], order["steps"]) == (2, [1, 2], ["begin"])
    one = (await http.get("/api/machines/send")).json()
    MachineAnswer.model_validate(one)
    assert one["machine"] == send
    assert (await http.get("/api/machines/send/schema")).json()["schema"] == send["input"]
    drawn = (await http.get("/api/machines/order/diagram")).json()
    assert (drawn["diagram"]["states"], "[*] --> begin" in drawn["mermaid"]) == (["begin"], True)
    for path in ("", "/schema", "/diagram"):
        assert (await http.get(f"/api/machines/none{path}")).status_code == 404


async def test_a_service_with_the_code_registers_it_itself(app: Kairos) -> None:
    register(app)
    async with serving(app, open=True) as served:
        assert (await served.http.get("/api/machines/order/schema")).status_code == 200


@pytest.mark.usefixtures("known")
async def test_a_job_of_a_machine_whose_code_is_elsewhere_is_accepted_as_it_would_be_there(
    http: httpx2.AsyncClient, known: Kairos
) -> None:
    answer = await http.post("/api/jobs", json={"action": "send", "input": {"user_id": 7, "token": "s3cr3t"}})
    assert answer.status_code == 202, answer.text
    there = await known.action("send").enqueue(user_id=7, token="s3cr3t")
    here = await known.get(answer.json()["job"]["id"])
    assert "s3cr3t" not in answer.text
    for field in ("action", "version", "step", "queue", "priority", "tags", "input", "redact"):
        assert getattr(here, field) == getattr(there, field), field
    assert here.expires_at is not None and here.run_at is not None
    assert (here.expires_at - here.run_at).total_seconds() == 3600
    newest = await http.post("/api/jobs", json={"action": "order", "input": {"order_id": 1}})
    assert (newest.json()["job"]["version"], newest.json()["job"]["step"]) == (2, "begin")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("action", "given", "field"),
    [
        ("send", {}, "input"),
        ("send", {"user_id": "seven"}, "input.user_id"),
        ("send", {"user_id": 7, "more": 1}, "input"),
        ("order", {"order_id": 1, "parcels": [{"size": 0, "to": "x"}]}, "input.parcels.0.size"),
        ("order", {"order_id": 1, "parcels": [{"size": 1, "to": "x" * 21}]}, "input.parcels.0.to"),
        ("order", {"order_id": 1, "ordered_at": "noon"}, "input.ordered_at"),
        ("order", {"order_id": 1, "token": "s3cr3t"}, "input.token"),
    ],
    ids=str,
)
async def test_arguments_are_held_to_the_schema_where_the_code_is_elsewhere(
    http: httpx2.AsyncClient, action: str, given: dict[str, Any], field: str
) -> None:
    answer = await http.post("/api/jobs", json={"action": action, "input": given})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["details"]["field"]) == (422, "BAD_ARGUMENTS", field)
    assert "s3cr3t" not in answer.text


@pytest.mark.usefixtures("known")
async def test_a_name_that_nobody_registered_is_refused_with_those_near_it(http: httpx2.AsyncClient) -> None:
    error = (await http.post("/api/jobs", json={"action": "oder"})).json()["error"]
    assert (error["code"], "'order'" in error["message"]) == ("UNKNOWN_ACTION", True)


async def test_the_lifecycle_is_the_table(http: httpx2.AsyncClient) -> None:
    answer = (await http.get("/api/lifecycle")).json()
    LifecycleAnswer.model_validate(answer)
    assert (answer["lifecycle"], answer["mermaid"]) == (render.as_json(SPEC), render.mermaid(SPEC))


# Queues


async def test_queues_tell_what_they_have(http: httpx2.AsyncClient, known: Kairos) -> None:
    await known.enqueue_many(known.action("send").call(user_id=n) for n in range(3))
    await known.action("send").options(delay=60).enqueue(user_id=1)
    await known.enqueue_many(known.action("send").options(key="k").call(user_id=n) for n in range(3))
    listed = (await http.get("/api/queues")).json()
    QueueList.model_validate(listed)
    (mail,) = listed["queues"]
    assert (mail["name"], mail["pending"], mail["scheduled"], mail["running"]) == ("mail", 6, 1, 0)
    assert (await http.get("/api/queues/mail")).json()["queue"] == mail
    assert (await http.get("/api/queues/none")).status_code == 404


async def test_a_queue_is_paused_resumed_and_limited(http: httpx2.AsyncClient) -> None:
    paused = (await http.post("/api/queues/mail/pause")).json()
    QueueAnswer.model_validate(paused)
    assert paused["queue"]["pausedAt"] is not None
    limited = await http.patch(
        "/api/queues/mail",
        json={"concurrency": 5, "rate": {"limit": 100, "seconds": "1m"}, "keyConcurrency": 2},
    )
    assert limited.status_code == 200, limited.text
    queue = limited.json()["queue"]
    assert (queue["concurrency"], queue["rate"], queue["keyConcurrency"]) == (
        5,
        {"limit": 100, "seconds": 60},
        2,
    )
    assert queue["pausedAt"] is not None
    lifted = (await http.patch("/api/queues/mail", json={"rate": None})).json()["queue"]
    assert (lifted["concurrency"], lifted["rate"]) == (5, None)
    assert (await http.post("/api/queues/mail/resume")).json()["queue"]["pausedAt"] is None


@pytest.mark.parametrize(
    "body",
    [
        {"concurrency": 0},
        {"concurrency": True},
        {"rate": {"limit": 1}},
        {"rate": {"limit": 1, "seconds": 0}},
        {"rate": {"limit": 0, "seconds": 1}},
        {"paused": True},
    ],
    ids=str,
)
async def test_a_limit_that_makes_no_sense_is_refused(http: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    assert (await http.patch("/api/queues/mail", json=body)).status_code == 422


# Workers


async def test_a_worker_is_there_and_leaves_when_asked(http: httpx2.AsyncClient, known: Kairos) -> None:
    worker = known.worker(["mail"], name="w1", concurrency=3)
    async with worker:
        while not (workers := (await http.get("/api/workers")).json())["workers"]:
            await asyncio.sleep(0.02)
        WorkerList.model_validate(workers)
        (row,) = workers["workers"]
        assert (row["id"], "mail" in row["queues"], row["live"], row["running"]) == (
            worker.name,
            True,
            True,
            0,
        )
        assert (await http.get(f"/api/workers/{worker.name}")).json()["worker"]["id"] == worker.name
        assert (await http.get("/api/machines/send")).json()["machine"]["workers"] == 1
        asked = await http.post(f"/api/workers/{worker.name}/drain")
        WorkerAnswer.model_validate(asked.json())
        assert (asked.status_code, asked.json()["worker"]["drainAt"] is not None) == (202, True)
        async with asyncio.timeout(30):
            await worker.left.wait()
        assert await known.workers() == []
        await known.action("send").enqueue(user_id=1)  # nobody takes it
    assert [job.state for job in await known.jobs()] == ["pending"]
    for path in ("", "/drain"):
        method = "POST" if path else "GET"
        assert (await http.request(method, f"/api/workers/{worker.name}{path}")).status_code == 404


async def test_a_worker_tells_how_much_it_runs(http: httpx2.AsyncClient, known: Kairos) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    @known.job(queue="slow")
    async def slow() -> None:
        started.set()
        await go_on.wait()

    await slow.enqueue()
    async with known.worker(["slow"], name="w2") as worker:
        async with asyncio.timeout(30):
            await started.wait()
            while not (rows := (await http.get("/api/workers")).json()["workers"]):
                await asyncio.sleep(0.02)
        assert rows[0]["running"] == 1
        assert (await known.run(operations.worker(worker.name))).running == 1
        go_on.set()
