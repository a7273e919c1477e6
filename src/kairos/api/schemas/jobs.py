"""The schemas of jobs and their history."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from pydantic import Field, StrictInt, create_model

from kairos.api.schemas.base import (
    AgedAnswer,
    Answer,
    Flag,
    Input,
    Instant,
    JobId,
    Length,
    Name,
    NoSlash,
    Output,
    examples,
    model_of,
    one,
    page,
)
from kairos.api.schemas.retry import RetryWanted
from kairos.fsm.lifecycle import JobState
from kairos.fsm.requests import JobRequest
from kairos.operations.bulk_jobs import BULK_BATCH
from kairos.shapes.history import HistoryRow
from kairos.shapes.job import Job
from kairos.shapes.job_filters import FILTERS, MOST_ARGUMENTS, Filters


class JobWanted(Input):
    """A job to be accepted. Options left out are those of the action."""

    model_config = examples(
        {"action": "send_welcome", "input": {"user_id": 7}},
        {
            "action": "send_welcome",
            "input": {"user_id": 7},
            "when": "tomorrow at 9am",
            "tz": "Europe/London",
            "ttl": "1h",
            "unique": "welcome:7",
            "tags": ["customer:7"],
            "retry": {"attempts": 5, "base": "10s"},
        },
    )

    action: Name
    input: dict[str, Any] = Field(default_factory=dict, description="The action's arguments, by name.")
    when: str | None = Field(None, min_length=1, max_length=1000, description="One time, in words.")
    tz: Name | None = Field(None, description="The time zone of `when`, if it names none; otherwise UTC.")
    run_at: Instant | None = None
    ttl: Length | None = None
    expires_at: Instant | None = None
    queue: Annotated[Name, NoSlash] | None = None
    priority: StrictInt | None = Field(None, ge=-32768, le=32767, description="Lower is earlier.")
    key: Name | None = Field(None, description="Jobs of one key run one at a time.")
    ordered: Flag | None = None
    unique: Name | None = Field(None, description="While a job holds it, no second one is accepted.")
    unique_scope: Literal["queued", "live", "ever"] | None = None
    if_taken: Literal["raise", "return"] | None = Field(
        None, description="What a taken `unique` does: 409, or the job that holds it."
    )
    tags: list[Name] | None = Field(None, max_length=100)
    retry: RetryWanted | None = Field(None, description="In place of the action's own policy or `handle`.")
    retry_of: JobId | None = Field(
        None, description="The job that this one runs again with changes; it may be of any state."
    )


class BatchWanted(Input):
    """Up to a thousand jobs, accepted in one statement: all of them, or none if one is wrong."""

    model_config = examples({"jobs": [{"action": "resize", "input": {"image": n}} for n in (1, 2)]})

    jobs: list[JobWanted] = Field(min_length=1, max_length=1000)


class JobChanges(Input):
    """The fields to change; the others keep their values. A `null` removes `ttl` or `expiresAt`."""

    model_config = examples({"priority": -5}, {"runAt": "2030-01-01T00:00:00Z"})

    # Factories, so that no default is shown: what is left out stays as it is.
    priority: StrictInt = Field(default_factory=int, ge=-32768, le=32767)
    queue: Annotated[Name, NoSlash] = Field(default_factory=str)
    tags: list[Name] = Field(default_factory=list, max_length=100)
    run_at: Instant = Field(default_factory=lambda: datetime.min)
    ttl: Length | None = None
    expires_at: Instant | None = None


class Details(Input):
    """The fields of requests that move a job; `fsm/requests.py` says which request takes which."""

    delay: Length | None = Field(None, description="How long from now.", examples=["1h"])
    until: Instant | None = None
    reason: str | None = Field(
        None, max_length=4000, description="Why; kept in the history.", examples=["the customer called"]
    )


def body_of(asked: JobRequest) -> type[Input]:
    """Return the schema of the body of a request that moves a job, with the fields that the request takes."""
    fields: dict[str, Any] = {
        name: (Details.model_fields[name].annotation, Details.model_fields[name]) for name in asked.fields
    }
    return create_model(f"{asked.name.title().replace('_', '')}Wanted", __base__=Input, **fields)


JobAnswer = one("JobAnswer", job=Job)
JobList = page(
    "JobList",
    "A page, newest first. It may be short or empty without being the last: follow `nextCursor` until it is null. "
    "`searchedTo` is set where the search stopped before the page was full: older jobs were not looked at.",
    base=AgedAnswer,
    jobs=Job,
    more={"searched_to": datetime | None},
)


class CountsAnswer(AgedAnswer):
    """How many jobs there are in each state; those in `atLeast` may have more, and `capped` says that there are any."""

    counts: dict[JobState, int]
    capped: bool
    at_least: list[JobState]


HistoryAnswer = page("HistoryAnswer", base=AgedAnswer, history=HistoryRow)
Accepted = create_model(
    "Accepted",
    __base__=Output,
    __doc__="`isNew` is false if the job existed before and holds the unique key.",
    job=model_of(Job),
    is_new=bool,
)
BatchAnswer = one("BatchAnswer", jobs=list[Accepted])  # type: ignore[valid-type]


def _kinds() -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the JSON type of a filter's value for each kind, and of a list of such values."""
    kinds: dict[Any, Any] = {JobState: JobState, str: Name, int: JobId, datetime: Instant}
    return kinds, {JobState: list[JobState], str: list[Name]}


# How many values a filter that may be repeated takes.
_MOST: dict[Any, int] = {JobState: len(JobState), str: MOST_ARGUMENTS}


def _body_fields() -> dict[str, Any]:
    """Return the members of `Filter`: one for each filter of jobs."""
    kinds, lists = _kinds()
    return {
        each.attribute: (
            (
                kinds[each.kind] | Annotated[lists[each.kind], Field(max_length=_MOST[each.kind])]
                if each.many
                else kinds[each.kind]
            )
            | None,
            Field(None, alias=each.name, description=each.help),
        )
        for each in FILTERS
    }


class Filter(create_model("Filter", __base__=Input, **_body_fields())):  # type: ignore[misc]
    """Which jobs: every filter that is given must match."""


def _query_signature(*, states: bool) -> Signature:
    """Return the signature that FastAPI reads: one query parameter for each filter of jobs."""
    kinds, lists = _kinds()
    return Signature(
        [
            Parameter(
                each.attribute,
                Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[
                    (lists[each.kind] if each.many else kinds[each.kind]) | None,
                    # Here, not in the type: FastAPI 0.115 does not see a list behind a type with bounds.
                    Query(
                        alias=each.name,
                        description=each.help,
                        max_length=_MOST[each.kind] if each.many else None,
                    ),
                ],
            )
            for each in FILTERS
            if states or each.kind is not JobState
        ]
    )


def _query_reader(*, states: bool = True) -> Callable[..., Filters]:
    """Return a dependency for FastAPI that reads the filters from the query parameters."""

    def read_query(**given: Any) -> Filters:
        return Filters(**given)

    read_query.__signature__ = _query_signature(states=states)  # type: ignore[attr-defined]
    return read_query


FilterQuery = Annotated[Filters, Depends(_query_reader())]
StatelessFilterQuery = Annotated[Filters, Depends(_query_reader(states=False))]


class BulkWanted(Details):
    """A filter, and the cursor to continue at; with `dryRun` nothing changes."""

    model_config = examples({"filter": {"state": "failed", "action": "resize"}, "dryRun": True})

    filter: Filter
    dry_run: Flag = False
    cursor: str | None = Field(None, max_length=100)


class BulkAnswer(Answer):
    """The counts of one portion. Continue with `nextCursor` until it is null; a portion may match nothing."""

    matched: int = Field(le=BULK_BATCH)
    done: int
    refused: int
    next_cursor: str | None
