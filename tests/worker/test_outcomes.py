"""What a step may not return, and what becomes of a job that returns it: always a named end, never the worker's."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from pydantic import BaseModel, field_validator
from tests.worker.world import fetch, verbs

from kairos import Await, Done, Job, Kairos, Next, Replay, Stop, step
from kairos.json_codec import MAX_BYTES
from kairos.testing import drain


class Note(BaseModel):
    case: str
    note: Any = None


async def outcomes(app: Kairos, cases: Mapping[str, Callable[[], Any]]) -> dict[str, Job]:
    """Run one job for each case, whose step answers what the case does; return the jobs as they ended."""

    @app.machine("subject")
    class Subject:
        State = Note

        @step(initial=True, to=["second"])
        async def first(self, ctx: Any) -> Any:
            return cases[ctx.state.case]()

        @step(to=["third"])
        async def second(self, ctx: Any) -> Any:
            return Done("second")

        @step(to=[])
        async def third(self, ctx: Any) -> Any:
            return Done("third")

    @app.job
    async def plain(case: str) -> Any:
        return cases[case]()

    async with app:
        calls = [(plain if case.startswith("plain") else Subject).call(case=case) for case in cases]
        jobs = await app.enqueue_many(calls)
        await drain(app, limit=2 * len(cases))
        return {case: await app.get(job.id) for case, job in zip(cases, jobs, strict=True)}


def codes(jobs: Mapping[str, Job]) -> set[tuple[str, str | None]]:
    return {(job.state, job.error_code) for job in jobs.values()}


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no words")


class MuteError(Exception):
    __str__ = Mute.__str__


def raising(error: BaseException) -> Callable[[], Any]:
    def raise_it() -> Any:
        raise error

    return raise_it


async def test_a_step_of_a_machine_that_returns_no_outcome_fails_with_its_name_and_what_it_returned(app):
    nonsense = [None, 7, "second", {"step": "second"}, Next, object(), [Done()]]
    jobs = await outcomes(app, {type(each).__name__: lambda each=each: each for each in nonsense})
    assert codes(jobs) == {("failed", "BAD_OUTCOME")}
    for name, job in jobs.items():
        assert "'first'" in job.error and "'subject'" in job.error and name in job.error


async def test_a_step_that_leads_where_its_machine_does_not_fails_and_says_where(app):
    jobs = await outcomes(
        app,
        {
            "'nowhere', which is not one of its steps": lambda: Next("nowhere"),
            "declares only second": lambda: Next("third"),
            "7, which is not one of its steps": lambda: Next(7),
            "'elsewhere', which is not one of its steps": lambda: Await("x", timeout=1, then="elsewhere"),
        },
    )
    assert codes(jobs) == {("failed", "UNKNOWN_STEP")}
    assert {said: job.error for said, job in jobs.items() if said not in job.error} == {}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


UNSTORABLE = {
    "which JSON has no number for": (math.nan, math.inf, [-math.inf]),
    "NUL": ("a\x00b", {"a\x00": 1}),
    "surrogate": ("\ud800", {"\udfff": 1}),
    "which JSON cannot hold": (Mute(), object, [len]),
    "the limit is": ("x" * MAX_BYTES, "é" * (MAX_BYTES // 2)),
    "levels deep": (nested(70), nested(5000)),
    "digits": (10**5000,),
}


def holding(wrap: Callable[[Any], Any], name: str = "") -> dict[str, Callable[[], Any]]:
    return {
        f"{name}{said} {number}": lambda value=value: wrap(value)
        for said, values in UNSTORABLE.items()
        for number, value in enumerate(values)
    }


async def test_a_result_that_cannot_be_stored_fails_the_job_and_says_why(app):
    only_results = {"keys are text 0": lambda: Done({1: 2}), "which JSON cannot hold 9": lambda: Done({1, 2})}
    jobs = await outcomes(app, holding(Done) | holding(lambda value: value, "plain ") | only_results)
    assert codes(jobs) == {("failed", "BAD_VALUE")}
    assert {job.output for job in jobs.values()} == {None}
    for case, job in jobs.items():
        assert case.removeprefix("plain ")[:-2] in job.error


async def test_a_state_that_cannot_be_stored_fails_the_job_and_leaves_it_as_it_was(app):
    def note(value: Any) -> Note:
        return Note(case="x", note=value)

    jobs = await outcomes(
        app,
        holding(lambda value: Next("second", note(value)), "next ")
        | holding(lambda value: Replay(note(value)), "replay ")
        | holding(lambda value: Await("x", state=note(value)), "await ")
        | {"no state at all": lambda: Next("second", object())},
    )
    assert {(job.state, job.step, job.attempt) for job in jobs.values()} == {("failed", "first", 0)}
    assert all(job.error and job.error_code and job.machine_state == job.input for job in jobs.values())


async def test_a_delay_that_is_no_length_of_time_fails_the_job(app):
    delays = [-1, math.nan, math.inf, "soon", None, timedelta(days=-1), 10**400, object(), True]
    cases = {f"replay {delay!r}": lambda delay=delay: Replay(delay=delay) for delay in delays}
    cases |= {f"await {t!r}": lambda t=t: Await("x", timeout=t) for t in delays if t is not None}
    jobs = await outcomes(app, cases)
    assert codes(jobs) == {("failed", "INVALID")}


async def test_an_await_of_nothing_or_of_a_name_that_cannot_be_stored_fails_the_job(app):
    names = [(), ("",), (7,), (None,), ("a\x00b",), ("x", "\ud800"), ("x" * 100_000,)]
    jobs = await outcomes(app, {str(each)[:50]: lambda each=each: Await(*each) for each in names})
    assert codes(jobs) == {("failed", "BAD_OUTCOME")}


async def test_the_reason_of_a_stop_is_kept_as_text_that_can_be_stored(app):
    reasons = {
        "no stock": "no stock",
        "a\\x00b": "a\x00b",
        "\\ud800": "\ud800",
        "{'code': 4}": {"code": 4},
        "None": None,
        "é" * 3999 + "…": "é" * 10_000,
    }
    kept = list(reasons)
    jobs = await outcomes(app, {f"{n}": lambda n=n: Stop(reasons[kept[n]]) for n in range(len(kept))})
    assert codes(jobs) == {("failed", "STOPPED")}
    assert [job.error for job in jobs.values()] == kept


async def test_whatever_a_step_raises_is_recorded_under_its_name(app):
    errors = {
        "ValueError: a\\x00b\\ud800": ValueError("a\x00b\ud800"),
        "ValueError": ValueError(),
        "MuteError: (its message cannot be read: RuntimeError)": MuteError(),
        "RuntimeError: " + "x" * 3985 + "…": RuntimeError("x" * 10**6),
        "SystemExit: 3": SystemExit(3),
        "KeyboardInterrupt": KeyboardInterrupt(),
        "MemoryError": MemoryError(),
        "GeneratorExit": GeneratorExit(),
        "StepError: Step 'first' was cancelled, but not by Kairos.": asyncio.CancelledError(),
        "RecursionError: deep": RecursionError("deep"),
        "BaseExceptionGroup: two (1 sub-exception)": BaseExceptionGroup("two", [SystemExit(1)]),
        "RuntimeError: coroutine raised StopIteration": StopIteration(),
    }
    said = list(errors)
    jobs = await outcomes(app, {f"{n}": raising(errors[said[n]]) for n in range(len(said))})
    assert [job.error for job in jobs.values()] == said
    codes = [text.split(":")[0].replace("StepError", "STEP_ERROR") for text in said]
    assert [job.error_code for job in jobs.values()] == codes
    async with app:
        assert {job.id: await verbs(app, job.id) for job in jobs.values()} == {
            job.id: ["stop"] for job in jobs.values()
        }


async def test_a_stored_state_that_its_machine_does_not_understand_fails_the_job_and_says_why(app):
    class Picky(BaseModel):
        size: int = 0

        @field_validator("size")
        @classmethod
        def explode(cls, value: int) -> int:
            if value > 2:
                raise KeyError(value)
            return value

    @app.machine("picky")
    class Machine:
        State = Picky

        @step
        async def only(self, ctx: Any) -> Any:
            return Done()

    async with app:
        wrong_type, unforeseen = await Machine.enqueue(), await Machine.enqueue()
        for job, state in ((wrong_type, '{"size": "big"}'), (unforeseen, '{"size": 3}')):
            await fetch(
                app, "update kairos.gen_durable set state = $2::text::jsonb where id = $1", job.id, state
            )
        await drain(app)
        jobs = [await app.get(job.id) for job in (wrong_type, unforeseen)]
        assert [job.state for job in jobs] == ["failed", "failed"]
        assert [job.error_code for job in jobs] == ["ValidationError", "KeyError"]


async def test_a_step_that_its_machine_no_longer_has_fails_the_job_and_names_it(app):
    @app.job
    async def once() -> None: ...

    async with app:
        job = await once.enqueue()
        await fetch(app, "update kairos.gen_durable set step = 'gone' where id = $1", job.id)
        await drain(app)
        job = await app.get(job.id)
        assert (job.state, job.error_code) == ("failed", "UNKNOWN_STEP") and "'gone'" in job.error
