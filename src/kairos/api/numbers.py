"""Ids in paths: digits that a bigint may have. More of them are no id, and Python would not even read them."""

from __future__ import annotations

from starlette.convertors import IntegerConvertor, register_url_convertor


class Number(IntegerConvertor):
    """`{id:number}` in the path of a route."""

    regex = "[0-9]{1,19}"


register_url_convertor("number", Number())
