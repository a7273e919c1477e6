"""The shapes of requests and answers, for validation and for the OpenAPI document."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, StrictBool
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

_DATE = re.compile(r"[0-9]{4}-")


def _is_written_out(value: Any) -> Any:
    """Refuse a number of seconds, which pydantic would take for an instant too."""
    if isinstance(value, datetime) or value is None or (isinstance(value, str) and _DATE.match(value)):
        return value
    raise ValueError("give an instant in ISO 8601, with its time zone")


def _fits_a_path(value: str) -> str:
    """Refuse a slash: what has one in its name could not be addressed by any path, and so never changed here."""
    if "/" in value:
        raise PydanticCustomError(
            "slash", "a name that is to be found in a path has no slash: choose another"
        )
    return value


NoSlash = AfterValidator(_fits_a_path)
Instant = Annotated[AwareDatetime, BeforeValidator(_is_written_out)]
Flag = StrictBool  # neither 0 nor "yes"


class Input(BaseModel):
    """What a caller sends: an unknown field is a mistake, not a wish to ignore."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", populate_by_name=False)


class Output(BaseModel):
    """What a caller gets; declared for the OpenAPI document, and tests hold real answers to it."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", populate_by_name=True)


class Answer(Output):
    """Every answer carries the id of its request."""

    request_id: str


class ErrorBody(Output):
    """`code` is stable, for programs; `message` is one sentence, for people."""

    code: str
    message: str
    details: dict[str, Any] | None = None


class ErrorEnvelope(Answer):
    """The one shape of every failure."""

    error: ErrorBody


def error_models() -> dict[str, Any]:
    """The error envelope as JSON schema, with references that fit an OpenAPI document."""
    schema = ErrorEnvelope.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs"), "ErrorEnvelope": schema}


# Meta


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
