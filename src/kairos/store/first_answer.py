"""Ask several hosts for a connection, each while those before it are still silent; the first one to answer wins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

# Seconds without an answer after which the next host is asked too.
_SILENCE = 0.25
# Seconds after which a host that refused is asked again, while another is silent: a standby may have been promoted.
_AGAIN = 0.5


async def first_answer(
    attempts: Sequence[Callable[[], Coroutine[Any, Any, T]]],
    refusals: tuple[type[BaseException], ...],
    discard: Callable[[T], None],
) -> tuple[int, T] | list[BaseException]:
    """Return the index and the result of the first attempt that succeeds, or the errors if every host refused.

    An error of the classes `refusals` is a refusal; any other is raised. After a refusal the next host is tried at
    once, and the host that refused is tried again while another is silent, since it may have been promoted. A later
    success is passed to `discard`.
    """
    loop = asyncio.get_running_loop()
    due = {number: time.monotonic() + number * _SILENCE for number in range(len(attempts))}
    unasked = list(due)
    asking: dict[asyncio.Task[T], int] = {}
    refused: dict[int, BaseException] = {}
    try:
        while True:
            for number in [number for number, at in due.items() if at <= time.monotonic()]:
                del due[number]
                asking[loop.create_task(attempts[number]())] = number
                if number in unasked:
                    unasked.remove(number)
            wait = max(0.0, min(due.values()) - time.monotonic()) if due else None
            done, _ = await asyncio.wait(asking, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(done, key=lambda each: asking[each]):
                if (error := task.exception()) is None:
                    return asking.pop(task), task.result()
                number = asking.pop(task)
                if not isinstance(error, refusals):
                    raise error
                refused[number] = error
                due[number] = time.monotonic() + _AGAIN
                if unasked:
                    due[unasked[0]] = time.monotonic()
            if len(refused) == len(attempts) and not asking:
                return [refused[number] for number in sorted(refused)]
    finally:
        for task in asking:
            task.cancel()
        for answer in await asyncio.gather(*asking, return_exceptions=True):
            if not isinstance(answer, BaseException):
                discard(answer)
