"""What a step logs through `logging` is kept with its job, and what Kairos itself says goes through `logging`."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time

import pytest
from tests.captured_logs import capture_logs
from tests.faults.proxy import Proxy
from tests.worker.world import ended, until, working

from kairos import Context, Kairos, Stop
from kairos.testing import drain

shop = logging.getLogger("shop.orders")


@pytest.fixture(autouse=True)
def levels() -> None:
    shop.setLevel(logging.INFO)


async def test_what_a_step_logs_by_the_standard_library_is_kept_with_its_job(app: Kairos) -> None:
    @app.job
    async def on_the_loop(n: int) -> None:
        shop.info("order %s is paid", n)
        await asyncio.sleep(0)
        shop.debug("left out by the level of the program")
        try:
            raise ValueError("no stock")
        except ValueError:
            shop.exception("cannot ship")

    @app.job
    def in_a_thread(n: int) -> None:
        shop.warning("order %s is late", n)

    shop.info("outside of any job")
    async with working(app):
        one, two = await on_the_loop.enqueue(7), await in_a_thread.enqueue(8)
        await ended(app, one.id)
        await ended(app, two.id)
        rows = await app.logs(one.id)
        assert [(row.level, row.line, row.fields["logger"]) for row in rows] == [
            ("info", "order 7 is paid", "shop.orders"),
            ("error", "cannot ship", "shop.orders"),
        ]
        assert "ValueError: no stock" in rows[1].fields["stack"]
        assert [row.line for row in await app.logs(two.id)] == ["order 8 is late"]


async def test_a_task_that_outlives_its_step_is_no_longer_heard(app: Kairos) -> None:
    left: list[asyncio.Task[None]] = []

    async def later() -> None:
        await asyncio.sleep(0.05)
        shop.warning("too late")

    @app.job
    async def leaves() -> None:
        left.append(asyncio.create_task(later()))

    async with app:
        job = await leaves.enqueue()
        await drain(app)
        await left[0]
        assert await app.logs(job.id) == []


async def test_every_failed_step_is_logged_also_one_that_raised_nothing(app: Kairos) -> None:
    @app.job
    async def refuses() -> Stop:
        return Stop("out of paper")

    @app.job
    async def returns_junk() -> object:
        return object()

    async with app:
        jobs = [await refuses.enqueue(), await returns_junk.enqueue()]
        with capture_logs() as said:
            await drain(app)
        failed = {line["job"]: line["error"] for line in said if line["event"] == "step failed"}
        assert failed[jobs[0].id] == "out of paper"
        assert "result is a object, which JSON cannot hold" in failed[jobs[1].id]
        assert [row.line for row in await app.logs(jobs[0].id)] == ["out of paper"]


@pytest.mark.parametrize("how", ["sleeps", "computes"])
async def test_a_step_that_blocks_the_event_loop_is_named_while_it_does(app: Kairos, how: str) -> None:
    seen: list[bool] = []

    @app.job
    async def blocks(ctx: Context) -> None:
        deadline = time.monotonic() + 30
        while not said_so() and time.monotonic() < deadline:
            time.sleep(0.01) if how == "sleeps" else sum(range(1000))
        seen.append(said_so())

    with capture_logs() as said:

        def said_so() -> bool:
            return any("blocks the event loop" in str(line["event"]) for line in said)

        async with working(app):
            job = await blocks.enqueue()
            assert (await ended(app, job.id)).state == "success"
            kept = await app.logs(job.id)
    (line,) = [line for line in said if "blocks the event loop" in str(line["event"])]
    assert (seen, line["job"], line["action"], line["step"]) == ([True], job.id, "blocks", "run")
    assert "test_step_logging.py:" in str(line["at"])
    assert [row.level for row in kept] == ["warning"]


async def test_a_step_that_awaits_for_long_is_not_blamed(app: Kairos) -> None:
    @app.job
    async def waits() -> None:
        await asyncio.sleep(0.6)

    with capture_logs() as said:
        async with working(app):
            await ended(app, (await waits.enqueue()).id)
    assert not [line for line in said if "blocks the event loop" in line["event"]]


async def test_one_downtime_of_the_database_is_one_warning_and_one_line_when_it_is_over(
    database: str,
) -> None:
    async with Proxy(database) as proxy:
        app = Kairos(proxy.url)

        @app.job
        async def work() -> None:
            pass

        with capture_logs() as said:
            async with working(app):
                proxy.refuse = True
                proxy.cut()
                await until(lambda: [line for line in said if line["event"] == "database unavailable"])
                await asyncio.sleep(1.5)  # long enough for every loop to meet it several times
                proxy.refuse = False
                await until(lambda: [line for line in said if line["event"] == "database available again"])
                await ended(app, (await work.enqueue()).id)
        warnings = [line for line in said if line["log_level"] in ("warning", "error")]
        assert [line["event"] for line in warnings] == ["database unavailable"]


PROGRAM = """
import asyncio, logging, sys
from kairos import Kairos

app = Kairos(sys.argv[1])

@app.job
async def fail() -> None:
    raise ValueError("out of paper")

async def main():
    async with app, app.worker(poll=0.1):
        job = await fail.enqueue()
        while (await app.get(job.id)).state != "failed":
            await asyncio.sleep(0.01)

if len(sys.argv) > 2:
    logging.basicConfig(level=sys.argv[2], format="%(levelname)s %(name)s %(message)s")
asyncio.run(main())
"""


@pytest.mark.parametrize("level", [None, "ERROR", "INFO"])
def test_kairos_logs_to_standard_error_as_logging_is_set_up(database: str, level: str | None) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, database, *([level] if level else [])],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == ""
    assert ("step failed" in done.stderr) is (level != "ERROR")
    assert ("INFO kairos.worker worker started" in done.stderr) is (level == "INFO")
