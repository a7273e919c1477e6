"""A `Job` is a plain value: it is copied, pickled and encoded, and no copy holds the client that read it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from fastapi.encoders import jsonable_encoder
from pydantic import TypeAdapter

from kairos import Backoff, InvalidTransition, Job, Kairos
from kairos.errors import BadRequest

COPIES: dict[str, Callable[[Job], Job]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda job: pickle.loads(pickle.dumps(job)),
    "asdict": lambda job: Job(**{**asdict(job), "retry": job.retry}),
    "replace": replace,
}


@pytest.fixture
async def job(app: Kairos) -> Job:
    echo = app.action("echo").options(delay=60, tags=["a"], unique="u", retry=Backoff(attempts=2))
    return await app.get((await echo.enqueue({"deep": [1]})).id)


@pytest.mark.parametrize("name", COPIES)
async def test_a_copy_is_equal_and_asks_for_a_client_before_it_transitions(job: Job, name: str) -> None:
    made = COPIES[name](job)
    assert made == job
    assert made is not job
    with pytest.raises(BadRequest, match=rf"^This copy of job {job.id} .* get\({job.id}\)\.$"):
        made.transition("cancelled")
    with pytest.raises(InvalidTransition):
        made.transition("success")
    assert (await job.transition("cancelled")).state == "cancelled"


async def test_a_deep_copy_shares_nothing_with_its_original(job: Job) -> None:
    made = copy.deepcopy(job)
    made.input["value"]["deep"].append(2)
    assert job.input == {"value": {"deep": [1]}}


async def test_a_job_is_encoded_by_fastapi_and_pydantic_field_by_field(job: Job) -> None:
    names = {each.name for each in fields(Job)}
    encoded: dict[str, Any] = jsonable_encoder(job)
    assert encoded.keys() == names
    assert (encoded["state"], encoded["tags"], encoded["retry"]["attempts"]) == ("scheduled", ["a"], 2)
    adapter = TypeAdapter(Job)
    assert adapter.validate_json(adapter.dump_json(job)).input == job.input


async def test_the_text_of_a_job_shows_neither_input_nor_output(app: Kairos) -> None:
    @app.job(redact=["token"])
    async def act(token: str) -> None: ...

    job = await act.enqueue(token="s3cret")
    assert repr(job) == f"Job(id={job.id}, action='act', state='pending', queue='default')"
    with pytest.raises(BadRequest, match=r"pass job\.id") as refused:
        await app.result(job)  # type: ignore[arg-type]
    assert "s3cret" not in str(refused.value)
