"""The interface of a cluster client, as the bridge process uses it, and the exceptions that a client raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class TaskLost(Exception):
    """The cluster lost the task with its node or process; it may have begun."""


class Unfit(Exception):
    """The cluster cannot run the task, because a node does not have the same code or versions."""


class Stopped(Exception):
    """The task was ended before it began, because it was asked to stop."""


class Client(Protocol):
    """The client of one kind of cluster. `deliver` takes the batches that tasks send.

    `taken` says that the worker has taken one more full batch of a task, which may wait for that, see task.py.
    """

    async def connect(self, address: str, deliver: Callable[[bytes], None]) -> str: ...
    async def run(self, token: str, body: bytes) -> bytes: ...
    async def stop(self, token: str) -> None: ...
    async def drop(self, token: str) -> None: ...
    async def taken(self, token: str) -> None: ...
    async def check(self) -> None: ...
