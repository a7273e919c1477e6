"""What a type checker knows of the Python face, in both worlds; `mypy` reads this file, nobody runs it."""

from __future__ import annotations

from typing import assert_type

from kairos import Context, Done, Job, Kairos, SyncKairos, step
from kairos.machine.call import Call
from kairos.shapes.history import HistoryRow
from kairos.shapes.queue import Queue
from kairos.shapes.schedule import Schedule
from kairos.typing import MachineClass

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
    assert_type(await greet.then(send).enqueue("Ada", times=2), Job)
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


@app.machine("order")
class Order(MachineClass):
    @step
    async def pay(self, ctx: Context) -> Done:
        return Done()


async def a_machine_class_is_an_action() -> None:
    await Order.enqueue(order_id=42)
    await Order.options(unique="order:42").enqueue(order_id=42)
    assert_type(Order.call(order_id=42), Call)
    Order.options(colour="red")  # type: ignore[call-arg]


async def results_are_typed(job: Job) -> None:
    assert_type(await greet.result(job, timeout="1m"), str)
    assert_type(await send.options(priority=1).result(7), None)


def results_are_typed_without_await(job: Job) -> None:
    assert_type(count.result(job), int)
