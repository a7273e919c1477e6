"""The schemas of health and versions."""

from __future__ import annotations

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from kairos.api.schemas.base import Answer, Output


class Health(Answer):
    status: str


class VersionNumbers(Output):
    kairos: str
    schema_: int
    api: int

    model_config = ConfigDict(
        alias_generator=lambda name: to_camel(name.rstrip("_")), extra="forbid", populate_by_name=True
    )


class Version(Answer):
    version: VersionNumbers
