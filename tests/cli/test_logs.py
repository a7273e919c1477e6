"""`kairos jobs logs`: what steps said, for people and programs, and nothing that a terminal would obey."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.terminal import Process, Terminal, ran

from kairos import Await, Context, Done, Kairos, step
from kairos.testing import drain

if TYPE_CHECKING:
    pass


@pytest.fixture
def app(database: str) -> Kairos:
    app = Kairos(database)

    @app.job
    async def say(ctx: Context, lines: list[str]) -> None:
        for line in lines:
            ctx.log.info(line, length=len(line))

    @app.job
    async def fail() -> None:
        raise ValueError("out of paper")

    @app.job(capture=True)
    async def show() -> None:
        print("on paper")

    return app


async def test_lines_are_shown_in_order_with_their_level_and_fields(kairos: Terminal, app: Kairos) -> None:
    job = await ran(app, "say", lines=["one", "two"])
    shown = [line.split(maxsplit=1)[1] for line in kairos("jobs", "logs", job.id).out.splitlines()]
    assert shown == ["info     one  length=3", "info     two  length=3"]
    assert kairos("jobs", "logs", job.id, "--after", 1).out.count("\n") == 1
    assert kairos("jobs", "logs", job.id, "--after", 2).out == ""


async def test_an_error_is_shown_with_where_it_came_from(kairos: Terminal, app: Kairos) -> None:
    job = await ran(app, "fail")
    first, *rest = kairos("jobs", "logs", job.id).out.splitlines()
    assert first.endswith("error    ValueError: out of paper")
    assert rest and all(line.startswith("    ") for line in rest) and "in fail" in "\n".join(rest)


async def test_captured_lines_say_where_from(kairos: Terminal, app: Kairos) -> None:
    job = await ran(app, "show")
    assert kairos("jobs", "logs", job.id).out.split(maxsplit=1)[1] == "stdout   on paper\n"


async def test_nothing_a_step_says_moves_the_cursor_or_forges_a_line(kairos: Terminal, app: Kairos) -> None:
    evil = "\x1b[2J\x1b]0;x\x07 a\rb \x9b1m \u2028 \u202e \x7f\n00:00:00.000 error    forged"
    job = await ran(app, "say", lines=[evil])
    for options in ([], ["-f"]):
        out = kairos("jobs", "logs", job.id, *options).out
        assert all(letter.isprintable() or letter == "\n" for letter in out)
        assert [line[:4] for line in out.splitlines()[1:]] == ["    "]
    assert "\x1b" not in kairos("jobs", "logs", job.id, "--json").out


async def test_programs_get_one_document_or_one_for_each_line(kairos: Terminal, app: Kairos) -> None:
    job = await ran(app, "say", lines=["one", "two"])
    document = json.loads(kairos("jobs", "logs", job.id, "--json").out)
    followed = [json.loads(line) for line in kairos("jobs", "logs", job.id, "-f", "--json").out.splitlines()]
    assert document["logs"] == followed
    assert [(line["cursor"], line["line"], line["fields"]) for line in followed] == [
        (1, "one", {"length": 3}),
        (2, "two", {"length": 3}),
    ]


async def test_following_ends_with_the_job_and_as_waiting_for_it_would(kairos: Terminal, app: Kairos) -> None:
    good, bad = await ran(app, "say", lines=["one"]), await ran(app, "fail")
    for job in (good, bad):
        waited, followed = kairos("jobs", "wait", job.id), kairos("jobs", "logs", "-f", job.id)
        assert (followed.code, followed.err) == (waited.code, waited.err)
    assert kairos("jobs", "logs", "-f", bad.id).code == 70


async def test_a_job_that_is_not_there_is_an_error(kairos: Terminal) -> None:
    for options in ([], ["-f"], ["--json"]):
        said = kairos("jobs", "logs", 999, *options)
        assert (said.code, said.err) == (66, "kairos: There is no job 999.\n")
    assert kairos("jobs", "logs", 1, "--after", -1).code == 64


async def test_more_lines_than_a_page_are_all_shown(kairos: Terminal, app: Kairos) -> None:
    job = await ran(app, "say", lines=[str(number) for number in range(2001)])
    # On a busy machine the worker may add a warning that so many lines blocked its event loop.
    assert kairos("jobs", "logs", job.id).out.count(" info ") == 2001


async def test_what_is_said_while_one_follows_is_shown_as_it_comes(
    database: str, app: Kairos, start: Callable[..., Process]
) -> None:
    @app.machine("wait")
    class Wait:
        @step
        async def wait(self, ctx: Context) -> Any:
            ctx.log.info("it waits" if not ctx.inbox else "at last")
            return Done() if ctx.take("go") else Await("go")

    async with app:
        job = await app.action("wait").enqueue()
        await drain(app)
        watching = start("jobs", "logs", "-f", job.id, KAIROS_DATABASE_URL=database)
        await asyncio.to_thread(watching.says, "it waits")
        assert not watching.exited
        await app.signal(job.id, "go")
        await drain(app)
    assert watching.end() == 0
    assert [line.split()[-1] for line in watching.said.splitlines()[1:]] == ["waits", "last"]
