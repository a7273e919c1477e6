"""The clients: they ask for jobs, send letters, cancel and listen, and write down what was acknowledged to them.

Half of them talk to the database, half to the HTTP service. Every wait ends: a client that is not answered gives up,
and the checker judges what it was told before.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import Counter
from contextlib import suppress
from typing import Any

from chaos.journal import Journal
from kairos import Kairos, KairosError
from kairos.remote import KairosClient

KEYS = ("red", "green", "blue")
_MOST_KEYED = 30  # jobs that are live at once
_ANSWERS = {"woke": "letters that woke", "delivered": "letters that waited"}
ACKNOWLEDGED_WITHIN = 60.0  # seconds in which a letter must be acknowledged, once the faults are over
MIX = {
    "walk": 60.0,
    "inbox": 14,
    "family": 8,
    "brief": 10,
    "cancel": 8,
    "again": 5,
    "limited": 6,
    "trek": 2,
    "poison": 0.3,
}


class Clients:
    """`info` is what nobody can know: an error after the request was sent."""

    def __init__(self, app: Kairos, old: Kairos, journal: Journal, dice: random.Random) -> None:
        self._app = app
        self._old = old
        self._journal = journal
        self._dice = dice
        self._http: KairosClient | None = None
        self._asked = 0
        self._letters = 0
        self._background: set[asyncio.Task[None]] = set()
        self._readers: list[asyncio.Task[None]] = []
        self._deadline = math.inf
        self.backlog = 0  # jobs that are live, as far as anybody knows
        self.keyed = 0  # those of them that have a key
        self.did: Counter[str] = Counter()  # what was told to the clients, by the names of the guards

    async def run(self, rate: float, most: int, mix: dict[str, float] | None = None) -> None:
        """Ask for jobs until cancelled, but not for more than workers get through: `most` are live at once.

        What was begun with them is still brought to its end by `finish`.
        """
        mix = mix or MIX
        began, asked = time.monotonic(), 0
        while True:
            # By the clock and not by a pause between two: at a thousand in a second the pauses would add up.
            await asyncio.sleep(max(0.0, began + asked / rate - time.monotonic()))
            asked += 1
            (kind,) = self._dice.choices(list(mix), list(mix.values()))
            while self.backlog > most or len(self._background) > 200:
                await asyncio.sleep(0.1)
                began, asked = time.monotonic(), 0
            self._later(getattr(self, f"_{kind}")())

    async def pour(self, rate: float, batch: int = 50) -> None:
        """Quick jobs in batches, as many in a second, until cancelled; as fast as they go if that is less."""
        began, asked = time.monotonic(), 0
        call = self._app.action("tick").call
        while True:
            await asyncio.sleep(max(0.0, began + asked / rate - time.monotonic()))
            asked += batch
            if self.backlog > 10 * rate:
                continue
            try:
                await self._app.enqueue_many([call() for _ in range(batch)])
            except KairosError as error:
                self._journal.tell("info", error=str(error))
                began, asked = time.monotonic(), 0
            else:
                self.did["ack"] += batch

    async def finish(self) -> None:
        """Let everything that was begun end; it is all bounded from now on, and so is this."""
        self._deadline = time.monotonic() + ACKNOWLEDGED_WITHIN
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * ACKNOWLEDGED_WITHIN):
                while self._background:
                    await asyncio.wait(self._background)
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    async def close(self) -> None:
        """Stop listening."""
        for task in self._readers:
            task.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        if self._http is not None:
            await self._http.close()

    async def listen(self, url: str, readers: int) -> None:
        """From now on half of the requests go to the service, and some follow all that happens."""
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
                            self._journal.tell("heard", reader=name, cursor=cursor)
                            self.did["events heard"] += 1
            await asyncio.sleep(0.1)

    # What is asked for

    async def _walk(self) -> None:
        key = self._dice.choice([None, None, *KEYS])
        if self.keyed > _MOST_KEYED:
            key = (
                None  # keys run one at a time: on a slow machine nothing but their lines would be left to do
            )
        await self.ask("walk", {"n": 0, "key": key}, key=key)

    async def _limited(self) -> None:
        await self.ask("walk", {"n": 0, "key": None}, queue="limited")

    async def _brief(self) -> None:
        """Jobs that nobody serves in time, and some that are served just in time."""
        await self.ask(
            "walk",
            {"n": 0, "key": None},
            ttl=self._dice.uniform(0, 0.4),
            queue=self._dice.choice(["default", "closed"]),
        )

    async def _family(self) -> None:
        await self.ask("family", {})

    async def _trek(self) -> None:
        await self.ask("trek", {}, app=self._dice.choice([self._app, self._old]))

    async def _poison(self) -> None:
        await self.ask("poison", {}, app=self._app, max_reaps=2)

    async def _again(self) -> None:
        """Asked twice under one unique key, as one does after an error: there is one job, and both are told of it."""
        self._asked += 1
        token = f"ask-{self._asked}"
        for _ in range(2):
            with suppress(KairosError):
                call = self._app.action("walk").options(
                    tags=[token], unique=token, unique_scope="ever", if_taken="return"
                )
                self._journal.tell("ask", token=token)
                job = await call.enqueue(n=0, key=None)
                self._journal.tell("ack", job=job.id, token=token, again=not job.is_new)

    async def _inbox(self) -> None:
        wanted = self._dice.randint(1, 4)
        if (job := await self.ask("inbox", {"wanted": wanted, "got": []})) is not None:
            await self._send(job, wanted)

    async def _cancel(self) -> None:
        delay = self._dice.choice([0, 0, 1])
        if (job := await self.ask("walk", {"n": 0, "key": None}, delay=delay)) is None:
            return
        await asyncio.sleep(self._dice.uniform(0, 0.3))
        try:
            await self._either().cancel(job)
        except KairosError as error:
            self._journal.tell("info", job=job, error=str(error))
        else:
            self._journal.tell("cancelled", job=job)

    # How it is asked

    def _either(self) -> Any:
        return self._http if self._http is not None and self._dice.random() < 0.5 else self._app

    async def ask(
        self, action: str, state: dict[str, Any], app: Kairos | None = None, **options: Any
    ) -> int | None:
        self._asked += 1
        token = f"ask-{self._asked}"
        key = options.get("key")
        through = self._either() if app is None else app
        self._journal.tell("ask", token=token, http=through is self._http)
        self.did["asked over HTTP"] += through is self._http
        options = {name: value for name, value in options.items() if value is not None} | {"tags": [token]}
        try:
            if through is self._http:
                job = await through.options(**options).enqueue(action, **state)
            else:
                job = await through.action(action).options(**options).enqueue(**state)
        except KairosError as error:
            self._journal.tell("info", token=token, error=str(error))
            return None
        # Only of those that ran, and in the order of one client, is it known who came first in a key's line.
        self._journal.tell("ack", job=job.id, token=token, action=action, key=key)
        self.did["ack"] += 1
        return int(job.id)

    async def _send(self, job: int, count: int) -> None:
        for _ in range(count):
            await (self._until_it_waits(job) if self._dice.random() < 0.5 else self._briefly())
            self._letters += 1
            number = self._letters
            while time.monotonic() < self._deadline and not await self._sent(job, number):
                await asyncio.sleep(0.1)

    async def _briefly(self) -> None:
        await asyncio.sleep(self._dice.uniform(0, 0.15))

    async def _until_it_waits(self, job: int) -> None:
        """So that some letters find their job asleep, however long it took to get there."""
        while time.monotonic() < self._deadline:
            with suppress(KairosError):
                if (await self._app.get(job)).state not in ("scheduled", "pending", "running"):
                    return
            await asyncio.sleep(0.5)

    async def _sent(self, job: int, number: int) -> bool:
        """Sent again until it is acknowledged or refused for good: its number is its dedup key."""
        try:
            answer = await self._either().signal(job, "letter", {"number": number}, dedup_key=str(number))
        except KairosError as error:
            self._journal.tell("info", job=job, number=number, error=str(error))
            return error.code in ("NOT_FOUND", "INVALID_TRANSITION", "CONFLICT")
        self._journal.tell("sent", job=job, number=number, answer=str(answer))
        if str(answer) in _ANSWERS:
            self.did[_ANSWERS[str(answer)]] += 1
        return True

    def _later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
