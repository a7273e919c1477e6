"""The clients: they ask for jobs, send letters and cancel, and write down what was acknowledged to them."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from chaos.journal import Journal
from kairos import Kairos, KairosError

KEYS = ("red", "green", "blue")


class Clients:
    """`info` is what nobody can know: an error after the request was sent."""

    def __init__(self, app: Kairos, journal: Journal, dice: random.Random) -> None:
        self._app = app
        self._journal = journal
        self._dice = dice
        self._asked = 0
        self._letters = 0
        self._background: set[asyncio.Task[None]] = set()

    async def run(self, rate: float) -> None:
        """Ask for jobs until cancelled; what was begun with them is still brought to its end by `finish`."""
        while True:
            await asyncio.sleep(self._dice.expovariate(rate))
            kind = self._dice.choices(
                ["walk", "inbox", "family", "brief", "cancel", "poison"], [60, 14, 8, 10, 8, 0.3]
            )[0]
            await getattr(self, f"_{kind}")()

    async def finish(self) -> None:
        await asyncio.gather(*self._background)

    async def _walk(self) -> None:
        key = self._dice.choice([None, None, *KEYS])
        await self._ask("walk", {"n": 0, "key": key}, key=key)

    async def _brief(self) -> None:
        """Jobs that nobody serves in time, and some that are served just in time."""
        await self._ask(
            "walk",
            {"n": 0, "key": None},
            ttl=self._dice.uniform(0, 0.4),
            queue=self._dice.choice(["default", "closed"]),
        )

    async def _family(self) -> None:
        await self._ask("family", {})

    async def _poison(self) -> None:
        await self._ask("poison", {}, max_reaps=2)

    async def _inbox(self) -> None:
        wanted = self._dice.randint(1, 4)
        if (job := await self._ask("inbox", {"wanted": wanted, "got": []})) is not None:
            self._later(self._send(job, wanted))

    async def _cancel(self) -> None:
        delay = self._dice.choice([0, 0, 1])
        if (job := await self._ask("walk", {"n": 0, "key": None}, delay=delay)) is not None:
            self._later(self._cancel_later(job))

    async def _ask(self, action: str, state: dict[str, Any], **options: Any) -> int | None:
        self._asked += 1
        token = f"ask-{self._asked}"
        self._journal.tell("ask", token=token)
        try:
            job = await self._app.action(action).options(tags=[token], **options).enqueue(**state)
        except KairosError as error:
            self._journal.tell("info", token=token, error=str(error))
            return None
        self._journal.tell("ack", job=job.id, token=token, action=action)
        return job.id

    async def _send(self, job: int, count: int) -> None:
        for _ in range(count):
            await asyncio.sleep(self._dice.uniform(0, 0.15))
            self._letters += 1
            number = self._letters
            while not await self._sent(job, number):
                await asyncio.sleep(0.1)

    async def _sent(self, job: int, number: int) -> bool:
        """Sent again until it is acknowledged: its number is its dedup key."""
        try:
            answer = await self._app.signal(job, "letter", {"number": number}, dedup_key=str(number))
        except KairosError as error:
            if "takes no more signals" in str(error):
                return True
            self._journal.tell("info", job=job, number=number, error=str(error))
            return False
        self._journal.tell("sent", job=job, number=number, answer=answer)
        return True

    async def _cancel_later(self, job: int) -> None:
        await asyncio.sleep(self._dice.uniform(0, 0.3))
        try:
            await self._app.cancel(job)
        except KairosError as error:
            self._journal.tell("info", job=job, error=str(error))
        else:
            self._journal.tell("cancelled", job=job)

    def _later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
