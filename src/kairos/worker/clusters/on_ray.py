"""The client of a Ray cluster, in the bridge process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import ray
from ray import exceptions

from kairos.worker.clusters import task
from kairos.worker.clusters.client import TaskLost, Unfit

_LOST = (
    exceptions.WorkerCrashedError,
    exceptions.NodeDiedError,
    exceptions.OutOfMemoryError,
    exceptions.ObjectLostError,
    exceptions.LocalRayletDiedError,
    exceptions.TaskCancelledError,
)


class Mailbox:
    """An actor that tasks send batches to, and that the bridge reads: Ray Client has no streams."""

    def __init__(self) -> None:
        self._batches: list[bytes] = []
        self._some = asyncio.Event()
        self._room: dict[str, asyncio.Semaphore] = {}  # by token: of tasks that sent full batches

    async def put(self, token: str, batch: bytes, full: bool) -> None:
        self._batches.append(batch)
        self._some.set()
        if full:
            await self._room.setdefault(token, asyncio.Semaphore(task.MOST_UNTAKEN)).acquire()

    async def taken(self, token: str) -> None:
        if token in self._room:
            self._room[token].release()

    async def forget(self, token: str) -> None:
        self._room.pop(token, None)

    async def take(self) -> list[bytes]:
        """Return the batches that came since the last call, or none after some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await self._some.wait()
        self._some.clear()
        taken, self._batches = self._batches, []
        return taken


def run_on_ray(mailbox: Any, token: str, body: bytes) -> bytes:
    """Run one step in a worker process of Ray."""

    def send(batch: bytes, full: bool) -> None:
        put = mailbox.put.remote(token, batch, full)
        if full:
            with suppress(exceptions.RayError):  # it took too long, or the worker is gone
                ray.get(put, timeout=task.PATIENCE)

    return task.run(token, body, send)


class Cluster:
    """Run steps as tasks that Ray never repeats by itself. Stopping a step ends the process that it runs in."""

    def __init__(self) -> None:
        self._refs: dict[str, Any] = {}
        self._talkative: set[str] = set()  # tokens of tasks that sent full batches

    async def connect(self, address: str, deliver: Callable[[bytes], None]) -> str:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        info = await asyncio.to_thread(
            ray.init, address=address, log_to_driver=False, configure_logging=False, namespace="kairos"
        )
        # On the node of this client, or of the server that it is connected to: it is lost only together with them.
        node = ray.get_runtime_context().get_node_id()
        near = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=True)
        actor: Any = ray.remote(Mailbox)
        self._mailbox = actor.options(num_cpus=0, max_concurrency=1000, scheduling_strategy=near).remote()
        self._task: Any = ray.remote(max_retries=0, num_cpus=1)(run_on_ray)
        self._reading = asyncio.create_task(self._read(deliver))
        return str(info.address_info.get("address") if hasattr(info, "address_info") else address)

    async def run(self, token: str, body: bytes) -> bytes:
        ref = self._refs[token] = self._task.remote(self._mailbox, token, body)
        try:
            answer: bytes = await asyncio.wrap_future(ref.future())
        except _LOST as error:
            raise TaskLost(_first_line(error)) from error
        except exceptions.RayTaskError as error:  # what runs there raises nothing: it could not be loaded
            raise Unfit(_last_line(error)) from error
        except exceptions.RuntimeEnvSetupError as error:
            raise Unfit(_first_line(error)) from error
        finally:
            self._refs.pop(token, None)
            if token in self._talkative:
                self._talkative.discard(token)
                self._mailbox.forget.remote(token)
        return answer

    async def stop(self, token: str) -> None:
        await self.drop(token)

    async def drop(self, token: str) -> None:
        if (ref := self._refs.pop(token, None)) is not None:
            await asyncio.to_thread(ray.cancel, ref, force=True)

    async def taken(self, token: str) -> None:
        if token in self._refs:
            self._talkative.add(token)
            self._mailbox.taken.remote(token)

    async def check(self) -> None:
        if self._reading.done():
            raise ConnectionError("the actor that receives the steps' log lines was lost")
        nodes = await asyncio.to_thread(ray.nodes)
        if not any(node["Alive"] for node in nodes):
            raise ConnectionError("none of its nodes is alive")

    async def _read(self, deliver: Callable[[bytes], None]) -> None:
        while True:
            for batch in await asyncio.wrap_future(self._mailbox.take.remote().future()):
                deliver(batch)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _last_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[-1]
