"""The clients: they enqueue jobs, send signals, cancel and follow the event stream, and record each acknowledgement.

Half of the requests go to the database, half to the HTTP service. Every wait has an end: a client without an answer
gives up, and the checker uses the acknowledgements that it received before.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from chaos.journal import Journal
from kairos import Kairos, KairosError
from kairos.remote import KairosClient

KEYS = ("red", "green", "blue")
# Jobs of a key run one at a time and those of a limited queue three: beyond so many live ones no more are enqueued, or
# on a slow machine only they would be left.
_MOST_HELD_UP = 30
# How many requests may wait for their answers, and how many times faster than the rate the clients catch up.
_UNANSWERED, _CATCH_UP = 200, 3
_COUNTED_ANSWERS = {"woke": "signals that woke", "delivered": "signals that waited"}
MIX = {
    "walk": 60.0,
    "inbox": 14,
    "family": 8,
    "brief": 10,
    "cancel": 8,
    "twice": 5,
    "limited": 6,
    "trek": 2,
    "poison": 0.3,
}


class Clients:
    """The clients of a run. The journal event `info` is an error of a request that may have been carried out or not."""

    def __init__(self, app: Kairos, old: Kairos, journal: Journal, dice: random.Random) -> None:
        self._app = app
        self._old = old
        self._journal = journal
        self._dice = dice
        self._http: KairosClient | None = None
        self._requested = 0
        self._signals = 0
        self._background: set[asyncio.Task[None]] = set()
        self._readers: list[asyncio.Task[None]] = []
        self._patience = math.inf
        self._deadline = math.inf
        self.unacknowledged = 0  # requests for a job that failed
        self.failures: list[str] = []  # errors that no request may raise: its client gave up because of them
        self.backlog = 0  # live jobs, when last counted
        self.keyed = 0  # those with a partition key
        self.limited = 0  # those of the limited queue
        self.counts: Counter[str] = Counter()  # acknowledgements and requests, by the names in guards.py

    async def run(self, rate: float, most: int, mix: Mapping[str, float] = MIX) -> None:
        """Enqueue jobs until cancelled, while at most `most` of them are live; `finish` completes what was begun.

        What an outage prevented is sent afterwards, and instead of a request that failed another one is made: `rate` is
        the average of what is acknowledged.
        """
        began, sent = time.monotonic(), 0
        while True:
            # By the clock, not by a pause between two requests: at a thousand a second the errors would add up.
            late = time.monotonic() - began - (sent - self.unacknowledged) / rate
            await asyncio.sleep(1 / (_CATCH_UP * rate) if late > 0 else -late)
            (kind,) = self._dice.choices(list(mix), list(mix.values()))
            while self.backlog > most or len(self._background) > _UNANSWERED:
                await asyncio.sleep(0.1)
            sent += 1
            self.start(getattr(self, f"_{kind}")())

    async def enqueue_load(self, rate: float, batch: int = 50) -> None:
        """Enqueue `rate` quick jobs a second in batches until cancelled, or as many as are processed."""
        began, sent = time.monotonic(), 0
        call = self._app.action("tick").call
        while True:
            await asyncio.sleep(max(0.0, began + sent / rate - time.monotonic()))
            sent += batch
            if self.backlog > 10 * rate:
                continue
            try:
                await self._app.enqueue_many([call() for _ in range(batch)])
            except KairosError as error:
                self._journal.write("info", error=str(error))
                began, sent = time.monotonic(), 0
            else:
                self.counts["ack"] += batch

    async def finish(self, patience: float) -> None:
        """Wait until all clients have finished; they give up after `patience` seconds without an answer to any."""
        self._patience = patience
        self._note_progress()
        while self._background and time.monotonic() < self._deadline + patience:
            await asyncio.wait(self._background, timeout=1)
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    def _note_progress(self) -> None:
        self._deadline = time.monotonic() + self._patience

    async def close(self) -> None:
        """Stop following the event stream."""
        for task in self._readers:
            task.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        if self._http is not None:
            await self._http.close()

    async def listen(self, url: str, readers: int) -> None:
        """Send half of the requests to the service from now on, and follow its event stream with `readers`."""
        self._http = await KairosClient(url, timeout=10, tries=3).__aenter__()
        self._readers = [asyncio.ensure_future(self._follow(url, f"reader {n}")) for n in range(readers)]

    async def _follow(self, url: str, name: str) -> None:
        cursor = 0  # from the first change of all
        while True:
            with suppress(KairosError, OSError):
                async with KairosClient(url, timeout=30, tries=3) as client:
                    async for event in client.follow(cursor=cursor):
                        if event.name == "change":
                            cursor = event.cursor
                            self._journal.write("received", reader=name, cursor=cursor)
                            self.counts["events received"] += 1
            await asyncio.sleep(0.1)

    # The kinds of requests, by their names in MIX

    async def _walk(self) -> None:
        key = self._dice.choice([None, None, *KEYS])
        if self.keyed > _MOST_HELD_UP:
            key = None
        await self.enqueue("walk", {"n": 0, "key": key}, key=key)

    async def _limited(self) -> None:
        queue = "limited" if self.limited <= _MOST_HELD_UP else "default"
        await self.enqueue("walk", {"n": 0, "key": None}, queue=queue)

    async def _brief(self) -> None:
        """Enqueue a job with a TTL that expires about when it would be picked, or in a queue without workers."""
        await self.enqueue(
            "walk",
            {"n": 0, "key": None},
            ttl=self._dice.uniform(0, 0.4),
            queue=self._dice.choice(["default", "closed"]),
        )

    async def _family(self) -> None:
        await self.enqueue("family", {})

    async def _trek(self) -> None:
        await self.enqueue("trek", {}, app=self._dice.choice([self._app, self._old]))

    async def _poison(self) -> None:
        await self.enqueue("poison", {}, app=self._app, max_reaps=2)

    async def _twice(self) -> None:
        """Enqueue twice with the same unique key, as one does after an error: both requests return the same job."""
        self._requested += 1
        token = f"ask-{self._requested}"
        for _ in range(2):
            with suppress(KairosError):
                call = self._app.action("walk").options(
                    tags=[token], unique=token, unique_scope="ever", if_taken="return"
                )
                self._journal.write("ask", token=token)
                job = await call.enqueue(n=0, key=None)
                self._journal.write("ack", job=job.id, token=token, again=not job.is_new)

    async def _inbox(self) -> None:
        wanted = self._dice.randint(1, 4)
        if (job := await self.enqueue("inbox", {"wanted": wanted, "got": []})) is not None:
            await self._send(job, wanted)

    async def _cancel(self) -> None:
        delay = self._dice.choice([0, 0, 1])
        if (job := await self.enqueue("walk", {"n": 0, "key": None}, delay=delay)) is None:
            return
        await asyncio.sleep(self._dice.uniform(0, 0.3))
        try:
            await self._app_or_http().cancel(job)
        except KairosError as error:
            self._journal.write("info", job=job, error=str(error))
        else:
            self._journal.write("cancelled", job=job)

    # How a request is made

    def _app_or_http(self) -> Any:
        return self._http if self._http is not None and self._dice.random() < 0.5 else self._app

    async def enqueue(
        self, action: str, state: dict[str, Any], app: Kairos | None = None, **options: Any
    ) -> int | None:
        self._requested += 1
        token = f"ask-{self._requested}"
        key = options.get("key")
        through = self._app_or_http() if app is None else app
        self._journal.write("ask", token=token, http=through is self._http)
        self.counts["requested over HTTP"] += through is self._http
        options = {name: value for name, value in options.items() if value is not None} | {"tags": [token]}
        try:
            if through is self._http:
                job = await through.options(**options).enqueue(action, **state)
            else:
                job = await through.action(action).options(**options).enqueue(**state)
        except KairosError as error:
            self._journal.write("info", token=token, error=str(error))
            self.unacknowledged += 1
            return None
        # The checker compares the order of jobs of a key by these acknowledgements.
        self._journal.write("ack", job=job.id, token=token, action=action, key=key)
        self.counts["ack"] += 1
        return int(job.id)

    async def _send(self, job: int, count: int) -> None:
        for _ in range(count):
            await (self._wait_until_parked(job) if self._dice.random() < 0.5 else self._pause_briefly())
            self._signals += 1
            number = self._signals
            while time.monotonic() < self._deadline and not await self._send_once(job, number):
                await asyncio.sleep(0.1)

    async def _pause_briefly(self) -> None:
        await asyncio.sleep(self._dice.uniform(0, 0.15))

    async def _wait_until_parked(self, job: int) -> None:
        """Wait until the job awaits a signal, so that some signals wake their job."""
        while time.monotonic() < self._deadline:
            with suppress(KairosError):
                if (await self._app.get(job)).state not in ("scheduled", "pending", "running"):
                    return
            await asyncio.sleep(0.5)

    async def _send_once(self, job: int, number: int) -> bool:
        """Send a signal; return whether it is acknowledged or refused for good. Its number is its dedup key."""
        try:
            answer = await self._app_or_http().signal(
                job, "message", {"number": number}, dedup_key=str(number)
            )
        except KairosError as error:
            self._journal.write("info", job=job, number=number, error=str(error))
            return error.code in ("NOT_FOUND", "INVALID_TRANSITION", "CONFLICT")
        self._note_progress()
        self._journal.write("sent", job=job, number=number, answer=str(answer))
        if str(answer) in _COUNTED_ANSWERS:
            self.counts[_COUNTED_ANSWERS[str(answer)]] += 1
        return True

    def start(self, work: Any) -> None:
        """Run a request in the background."""
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(f"{type(error).__name__}: {error}")
