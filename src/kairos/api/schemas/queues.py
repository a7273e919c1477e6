"""The schemas of queues."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictInt, create_model

from kairos.api.schemas.base import Input, Length, examples, one, page
from kairos.shapes.queue import LARGEST_LIMIT, LIMITS, Queue

QueueAnswer = one("QueueAnswer", queue=Queue)
QueueList = page("QueueList", queues=Queue)


class RateWanted(Input):
    limit: StrictInt = Field(ge=1, le=2**31 - 1)
    seconds: Length


_NUMBER = Annotated[StrictInt, Field(ge=1, le=LARGEST_LIMIT)]
_CHANGES: dict[str, Any] = {
    name: ((RateWanted if name.endswith("rate") else _NUMBER) | None, None) for name in LIMITS
}


class QueueChanges(create_model("QueueChanges", __base__=Input, **_CHANGES)):  # type: ignore[misc]
    """The limits to set, over all workers; a `null` removes a limit, and the others keep their values."""

    model_config = examples({"concurrency": 10, "rate": {"limit": 100, "seconds": 60}})
