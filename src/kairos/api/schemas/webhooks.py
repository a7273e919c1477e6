"""The schemas of webhooks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from kairos.alarms.kinds import KINDS
from kairos.api.schemas.base import Flag, Input, examples, extended, one, optional, page
from kairos.shapes.job import Job
from kairos.shapes.webhook import Webhook

# Not a Literal: the operation refuses an unknown kind, and lists the known ones.
Kind = Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]
Kinds = Annotated[list[Kind], Field(max_length=100)]
Url = Annotated[
    str,
    StringConstraints(max_length=2048),
    Field(json_schema_extra={"format": "uri"}, examples=["https://example.com/hook"]),
]

WebhookAnswer = one("WebhookAnswer", webhook=Webhook)
WebhookMadeAnswer = one("WebhookMadeAnswer", webhook=extended("WebhookMade", Webhook, secret=str))
WebhookList = page("WebhookList", webhooks=Webhook)
WebhookTest = one("WebhookTest", "The job that delivers the test.", webhook=Webhook, job=Job)


class WebhookWanted(Input):
    url: Url
    kinds: Kinds = Field(default_factory=list)
    paused: Flag = False

    model_config = examples({"url": "https://example.com/hook", "kinds": ["jobs_failed"]})


class WebhookChange(optional(WebhookWanted)):  # type: ignore[misc]
    """The fields to change; the others keep their values."""
