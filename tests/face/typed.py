"""What a type checker knows of the Python face, in both worlds; `mypy` reads this file, nobody runs it."""

from __future__ import annotations

from typing import assert_type

from kairos import Context, Job, Kairos, SyncKairos
from kairos.store.rows import HistoryRow, Queue
from kairos.store.schedules import Schedule

app = Kairos()
sync = SyncKairos()


@app.job
async def greet(name: str, times: int = 1) -> str:
    return name * times


@app.job(queue="mail", ttl="1h", priority=-1)
async def send(ctx: Context, user_id: int) -> None: ...


@sync.job
def count(ctx: Context, upto: int) -> int:
    return upto


async def answers_are_awaited() -> None:
    assert_type(await greet.enqueue("Ada", times=2), Job)
    assert_type(await send.options(key="user:7", tags=["vip"]).enqueue(user_id=7), Job)
    assert_type(await app.get(1), Job)
    assert_type(await app.jobs(state="failed"), list[Job])
    assert_type(await app.history(1), list[HistoryRow])
    assert_type(await app.schedules.get("nightly"), Schedule)
    assert_type(await app.enqueue_many(send.call(user_id=n) for n in range(3)), list[Job])


def answers_are_values() -> None:
    assert_type(count.enqueue(upto=3), Job)
    assert_type(sync.pause("mail"), Queue)
    assert_type(sync.schedules.list(), list[Schedule])


def mistakes_are_seen() -> None:
    """Each of these would be an error without its comment, and the comment one without its mistake."""
    send.call(user="seven")  # type: ignore[call-arg]
    greet.call(7)  # type: ignore[arg-type]
    send.options(colour="red")  # type: ignore[call-arg]
    sync.get("1")  # type: ignore[arg-type]
