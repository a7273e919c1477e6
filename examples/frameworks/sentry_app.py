"""Sentry: each failed attempt is an event, with the job that it belongs to.

$ pip install sentry-sdk
$ SENTRY_DSN=https://… kairos worker examples/frameworks/sentry_app.py
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sentry_sdk

from kairos import Backoff, Context, Kairos

sentry_sdk.init(dsn=os.environ.get("SENTRY_DSN"))
app = Kairos()


@app.around_step
@contextmanager
def report(ctx: Context) -> Iterator[None]:
    """Send what any step raises to Sentry. The error goes on, so that the retry policy decides as ever."""
    with sentry_sdk.isolation_scope() as scope:  # steps that run at once do not mix
        scope.set_tag("kairos.action", ctx.action)
        scope.set_tag("kairos.step", ctx.step)
        scope.set_context("job", {"id": ctx.id, "attempt": ctx.attempt})
        scope.fingerprint = ["{{ default }}", ctx.action]
        try:
            yield
        except Exception as error:
            sentry_sdk.capture_exception(error)
            raise


@app.job(retry=Backoff(attempts=2, base="50ms"))
async def charge_card(ctx: Context, order_id: int) -> str:
    if ctx.attempt == 0:
        raise ConnectionError("the bank is asleep")
    return f"charged {order_id}"


async def main() -> None:
    events: list[Any] = []
    # Keep the events here: what `before_send` returns nothing for is not sent.
    sentry_sdk.init(dsn="https://key@localhost/1", before_send=lambda event, hint: events.append(event))
    async with app, app.worker():
        job = await charge_card.enqueue(order_id=42)
        print("result ->", await app.result(job.id, timeout="30s"))
    error = events[0]["exception"]["values"][-1]
    print("event ->", error["type"], error["value"], events[0]["tags"])


if __name__ == "__main__":
    asyncio.run(main())
