"""The client of a Dask cluster, in the bridge process."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import distributed
from distributed import Client, Event, Future, LocalCluster, get_client, get_worker
from distributed.scheduler import KilledWorker

from kairos.worker.clusters import task
from kairos.worker.clusters.client import Stopped, TaskLost, Unfit

_room: dict[str, threading.Semaphore] = {}  # by token: of the tasks that this Dask worker runs


class Cluster:
    """Run steps as tasks of Dask. A running task cannot be ended, only asked to stop."""

    def __init__(self) -> None:
        self._name = f"kairos-{uuid.uuid4().hex}"
        self._futures: dict[str, Future[Any]] = {}
        self._begun: dict[str, str] = {}  # by token: the address of the Dask worker

    async def connect(self, address: str, deliver: Callable[[bytes], None]) -> str:
        where: Any = address
        if address == "local":
            where = await LocalCluster(asynchronous=True, dashboard_address=None)
        self._client = await Client(where, asynchronous=True, set_as_default=False, name="kairos")
        self._scheduler = (await self._identity())["id"]

        def receive(event: tuple[float, Any]) -> None:
            kind, token, content = event[1]
            if kind == "begun":
                self._begun[token] = content
            else:
                deliver(content)

        self._client.subscribe_topic(self._name, receive)
        return str(self._client.scheduler.address)

    async def run(self, token: str, body: bytes) -> bytes:
        future = self._client.submit(
            run_on_dask, self._name, token, body, pure=False, retries=0, key=f"{self._name}-{token}"
        )
        self._futures[token] = future
        may_run = False
        try:
            answer: bytes | None = await future.result()
        except KilledWorker as error:
            raise TaskLost(f"its Dask workers died: {error}") from error
        except asyncio.CancelledError:
            raise
        except distributed.CancelledError as error:
            may_run = True
            if token in self._futures:
                raise TaskLost("its Dask worker was lost, or the scheduler forgot it") from error
            raise Stopped from error
        except Exception as error:
            raise Unfit(f"{type(error).__name__}: {error}") from error
        finally:
            self._futures.pop(token, None)
            self._begun.pop(token, None)
            # Dask may begin to repeat a task while it is cancelled: the event that was set keeps it from running twice.
            if not may_run:
                with suppress(Exception):
                    await Event(f"{self._name}-{token}", client=self._client).clear()
        if answer is None:
            raise TaskLost("its Dask worker was lost")
        return answer

    async def stop(self, token: str) -> None:
        """Ask a running task to stop, or cancel one that has not begun."""
        if (where := self._begun.get(token)) is not None:
            await self._client.run(task.ask_to_stop, token, workers=[where], on_error="ignore")
        elif (future := self._futures.pop(token, None)) is not None:
            await future.cancel()

    async def drop(self, token: str) -> None:
        future, where = self._futures.pop(token, None), self._begun.get(token)
        if where is not None:
            await self._client.run(task.ask_to_stop, token, workers=[where], on_error="ignore")
        if future is not None:
            await future.cancel()

    async def taken(self, token: str) -> None:
        if (where := self._begun.get(token)) is not None:
            await self._client.run(make_room, token, workers=[where], on_error="ignore")

    async def check(self) -> None:
        # Copied first: the answer of the scheduler may not know tasks that begin while it is under way.
        begun = dict(self._begun)
        identity = await self._identity(workers=bool(begun))
        if identity["id"] != self._scheduler:
            raise ConnectionError("its scheduler was restarted")
        if self._client.status != "running":
            raise ConnectionError(f"the client of Dask is {self._client.status}")
        # Dask repeats such a task on another worker, and while there is none it would wait for one for ever.
        for token, where in begun.items():
            if where not in identity["workers"] and token in self._futures:
                await self._futures[token].cancel()

    async def _identity(self, *, workers: bool = False) -> Any:
        """Ask the scheduler for its id, and with `workers` for its workers."""
        return await self._client.scheduler.identity(n_workers=-1 if workers else 0)


def run_on_dask(topic: str, token: str, body: bytes) -> bytes | None:
    """Run one step on a Dask worker; None if it began before: Dask repeats the tasks of a worker that died."""
    worker = get_worker()
    begun = Event(f"{topic}-{token}", client=get_client())
    if begun.is_set():
        return None
    begun.set()
    worker.log_event(topic, ("begun", token, worker.address))
    room = _room[token] = threading.Semaphore(task.MOST_UNTAKEN)

    def send(batch: bytes, full: bool) -> None:
        worker.log_event(topic, ("batch", token, batch))
        if full:
            room.acquire(timeout=task.PATIENCE)

    try:
        return task.run(token, body, send)
    finally:
        del _room[token]


def make_room(token: str) -> None:
    """Let a task of this Dask worker send one more full batch."""
    if (room := _room.get(token)) is not None:
        room.release()
