"""The actions these tests enqueue, the same for either kind of app."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.engine_statements import Hand

from kairos import Await, Backoff, Context, Done, Job, JobState, Kairos, SyncKairos, step
from kairos.testing import drain


def register(app: Kairos | SyncKairos) -> None:
    @app.job
    async def echo(ctx: Context, value: Any = None) -> Any:
        return value

    @app.job(queue="mail", retry=Backoff(attempts=2, base=3600))
    async def send(user: int, template: str = "plain") -> Any:
        return {"sent": user}

    @app.job
    async def fail(words: str = "no") -> None:
        raise ValueError(words)

    @app.machine("waiter")
    class Waiter:
        @step
        async def wait(self, ctx: Context) -> Any:
            found = ctx.take("go")
            return Await("go") if found is None else Done(found.payload)


async def in_state(app: Kairos, state: JobState | str, **options: Any) -> Job:
    """A job that came to `state` as jobs do, on a queue of its own."""
    options = {"queue": f"for {state}", **options}
    match JobState(state):
        case JobState.SCHEDULED:
            return await app.action("echo").options(delay=3600, **options).enqueue()
        case JobState.PENDING:
            return await app.action("echo").options(**options).enqueue()
        case JobState.RUNNING:
            job = await app.action("echo").options(**options).enqueue()
            hand = Hand(app.store, "hand", [options["queue"]])
            while not hand.claims:
                await hand.picker.pick(options["queue"], 1)
        case JobState.WAITING:
            job = await app.action("waiter").options(**options).enqueue()
            await drain(app)
        case JobState.SUCCESS:
            job = await app.action("echo").options(**options).enqueue("done")
            await drain(app)
        case JobState.FAILED:
            job = await app.action("fail").options(**options).enqueue()
            await drain(app)
        case JobState.CANCELLED:
            job = await app.action("echo").options(delay=3600, **options).enqueue()
            await app.cancel(job.id, reason="enough")
        case JobState.EXPIRED:
            job = await app.action("echo").options(ttl=0, **options).enqueue()
            await drain(app)
    read: Job = await app.get(job.id)
    assert read.state == state
    return read


def drain_of(url: str) -> int:
    """Run everything due, for tests that have no event loop of their own."""

    async def run() -> int:
        async with Kairos(url) as app:
            register(app)
            return await drain(app)

    return asyncio.run(run())
