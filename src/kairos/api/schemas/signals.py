"""The schemas of signals."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kairos.api.schemas.base import Answer, Input, Name, Output, examples, page
from kairos.shapes.signal import SignalRow

SignalList = page("SignalList", signals=SignalRow)


class SignalWanted(Input):
    model_config = examples({"name": "delivered", "payload": {"at": "noon"}, "dedupKey": "evt-7"})

    name: Name
    payload: Any = None
    dedup_key: Name | None = Field(None, description="A second signal of this key is dropped.")


class Sent(Output):
    """Whether the signal `woke` the job, was `delivered` to its inbox, or is a `duplicate` and was dropped."""

    target: int
    name: str
    answer: Literal["woke", "delivered", "duplicate"]


class SignalAnswer(Answer):
    signal: Sent
