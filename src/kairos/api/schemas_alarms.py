"""The shapes of alarms and webhooks."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from kairos.alarms.kinds import KINDS
from kairos.api.schemas import Answer, Flag, Input, Output
from kairos.api.schemas_jobs import Job

Kind = Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]
Url = Annotated[
    str,
    StringConstraints(max_length=2048),
    Field(json_schema_extra={"format": "uri"}, examples=["https://example.com/hook"]),
]


class Alarm(Output):
    """Something that would be silent, made loud."""

    id: int
    kind: Kind
    subject: str
    severity: Literal["error", "warning"]
    cause: str
    remedy: str
    first_at: datetime
    last_at: datetime
    count: int
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    cleared_at: datetime | None


class AlarmAnswer(Answer):
    alarm: Alarm


class AlarmList(Answer):
    alarms: list[Alarm]
    next_cursor: str | None


class Delivery(Output):
    """The newest delivery: a job, and how it stands."""

    job: int
    state: str
    at: datetime
    error: str | None


class Webhook(Output):
    """Where alarms are sent to; without kinds, all of them."""

    id: int
    url: str
    kinds: list[Kind]
    paused: bool
    created_at: datetime
    last_delivery: Delivery | None


class WebhookMade(Webhook):
    secret: str


class WebhookAnswer(Answer):
    webhook: Webhook


class WebhookMadeAnswer(Answer):
    webhook: WebhookMade


class WebhookList(Answer):
    webhooks: list[Webhook]
    next_cursor: str | None


class WebhookTest(Answer):
    """The job that delivers the test."""

    webhook: Webhook
    job: Job


class WebhookWanted(Input):
    url: Url
    kinds: list[Kind] = Field(default_factory=list)
    paused: Flag = False

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        json_schema_extra={"examples": [{"url": "https://example.com/hook", "kinds": ["jobs_failed"]}]},
    )


class WebhookChange(Input):
    url: Url | None = None
    kinds: list[Kind] | None = None
    paused: Flag | None = None
