"""The schemas of queues."""

from __future__ import annotations

from pydantic import Field, StrictInt

from kairos.api.schemas.base import Input, Length, examples, one, page
from kairos.shapes.queue import Queue

QueueAnswer = one("QueueAnswer", queue=Queue)
QueueList = page("QueueList", queues=Queue)


class RateWanted(Input):
    limit: StrictInt = Field(ge=1, le=2**31 - 1)
    seconds: Length


class QueueChanges(Input):
    """The limits to set, over all workers; a `null` removes a limit, and the others keep their values."""

    model_config = examples({"concurrency": 10, "rate": {"limit": 100, "seconds": 60}})

    concurrency: StrictInt | None = Field(None, ge=1, le=32767)
    rate: RateWanted | None = None
    key_concurrency: StrictInt | None = Field(None, ge=1, le=32767)
    key_rate: RateWanted | None = None
