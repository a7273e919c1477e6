"""The base of all schemas: two base classes, checks of single values, and schemas made from shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Any, Self, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    create_model,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from kairos.api.body_faults import count_faults
from kairos.machine.field_checks import LARGEST_ID
from kairos.shapes.conversions import split_optional
from kairos.shapes.shape import shapes

_DATE = re.compile(r"[0-9]{4}-")


def _is_written_out(value: Any) -> Any:
    """Refuse a number, which pydantic would accept as an instant in seconds."""
    if isinstance(value, datetime) or value is None or (isinstance(value, str) and _DATE.match(value)):
        return value
    raise ValueError("give an instant in ISO 8601, with its time zone")


def _fits_a_path(value: str) -> str:
    """Refuse a slash: the name becomes one segment of a URL's path."""
    if "/" in value:
        raise PydanticCustomError(
            "slash", "the name is part of a URL path, so it cannot contain a slash: choose another"
        )
    return value


NoSlash = AfterValidator(_fits_a_path)
Instant = Annotated[AwareDatetime, BeforeValidator(_is_written_out)]
Flag = StrictBool  # neither 0 nor "yes"
Name = Annotated[str, Field(min_length=1, max_length=255)]
JobId = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Length = Annotated[
    StrictStr | StrictInt | StrictFloat,
    Field(description='Seconds, or text such as "90s", "5m", "1h 30m".', examples=["10m", 90]),
]


class Input(BaseModel):
    """The body of a request; an unknown field is refused."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", populate_by_name=False)

    @model_validator(mode="wrap")
    @classmethod
    def _limit_faults(cls, value: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        with count_faults() as faults:
            if isinstance(value, dict):
                value = faults.without_most_unknown(value, _names(cls))
            return faults.limit(validate, value, _names(cls))


def examples(*bodies: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a schema that shows examples in the OpenAPI document."""
    return ConfigDict(json_schema_extra={"examples": list(bodies)})


@cache
def _names(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of a body's fields in JSON."""
    return frozenset(field.alias or name for name, field in model.model_fields.items())


class Output(BaseModel):
    """A document in an answer; declared for the OpenAPI document, and tests validate real answers with it."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", populate_by_name=True)


class Answer(Output):
    """Every answer carries the id of its request."""

    request_id: str


class AgedAnswer(Answer):
    """An answer that a read replica may give: `age` is then how many seconds old it may be, at most."""

    age: float | None = None


class ErrorBody(Output):
    """`code` is stable, for programs; `message` is one sentence, for people."""

    code: str
    message: str
    details: dict[str, Any] | None = None


class ErrorEnvelope(Answer):
    """The one shape of every failure."""

    error: ErrorBody


def error_models() -> dict[str, Any]:
    """Return the error envelope as JSON schema, with references that fit an OpenAPI document."""
    schema = ErrorEnvelope.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs"), "ErrorEnvelope": schema}


@cache
def model_of(record_type: type) -> type[Output]:
    """Return the schema of a record type's document."""
    shape = shapes()[record_type]
    fields: dict[str, Any] = {
        each.attribute: (_json_type(each.type), Field(alias=each.name)) for each in shape.members
    }
    return create_model(shape.name, __base__=Output, __doc__=record_type.__doc__, **fields)


def extended(name: str, record_type: type, doc: str | None = None, **members: Any) -> type[Output]:
    """Return the schema of a record type's document with more members."""
    return create_model(name, __base__=model_of(record_type), __doc__=doc or record_type.__doc__, **members)


def optional(model: type[Input], *, without: str = "") -> type[Input]:
    """Return the schema of the same body with every field optional, for changes."""
    hints = get_type_hints(model, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name] | None, None) for name in model.model_fields if name != without
    }
    return create_model(model.__name__, __base__=Input, **fields)


def one(name: str, doc: str | None = None, *, base: type[Answer] = Answer, **members: Any) -> type[Answer]:
    """Build the schema of an answer whose members are records: `one("JobAnswer", job=Job)`."""
    fields: dict[str, Any] = {each: _json_type(kind) for each, kind in members.items()}
    return create_model(name, __base__=base, __doc__=doc or "", **fields)


def page(
    name: str,
    doc: str | None = None,
    *,
    cursor: Any = str,
    more: Mapping[str, Any] | None = None,
    base: type[Answer] = Answer,
    **members: Any,
) -> type[Answer]:
    """Build the schema of a page of records, with `more` other members: `page("JobList", jobs=Job)`."""
    lists = {each: list[_json_type(kind)] for each, kind in members.items()}  # type: ignore[misc]
    return one(name, doc, base=base, **lists, **(more or {}), next_cursor=cursor | None)


def _json_type(kind: Any) -> Any:
    """Return the JSON type of an attribute's type."""
    kind, nullable = split_optional(kind)
    if kind in shapes():
        kind = model_of(kind)
    elif kind is timedelta:
        kind = float
    elif get_origin(kind) is tuple:
        kind = list[_json_type(get_args(kind)[0])]  # type: ignore[misc]
    return kind | None if nullable else kind
