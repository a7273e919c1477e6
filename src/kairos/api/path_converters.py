"""Ids in paths: at most as many digits as a bigint has. Python refuses to convert thousands of digits."""

from __future__ import annotations

from starlette.convertors import IntegerConvertor, register_url_convertor

from kairos.fsm.requests import JobRequest


class IdConvertor(IntegerConvertor):
    """Convert `{id:number}` in the path of a route."""

    regex = "[0-9]{1,19}"


register_url_convertor("number", IdConvertor())


def path_of(asked: JobRequest) -> str:
    """Return the path template of the route of a job request."""
    return asked.path.replace("{id}", "{id:number}")
