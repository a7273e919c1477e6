"""Validate names, numbers, ids and instants before they are stored; errors name the field."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from kairos.errors import BadRequest, NotFound

MAX_NAME = 255
# The largest bigint: the largest id there can be.
LARGEST_ID = 2**63 - 1
FIRST_YEAR, LAST_YEAR = 2, 9998
# The queue of Kairos's own jobs (alarm deliveries), and the prefix of their actions.
OWN_QUEUE = "kairos"
_OWN_ACTIONS = "kairos."


def check_name(value: Any, field: str) -> None:
    """Require text of 1 to 255 characters that Postgres can store and a terminal can show."""
    if not isinstance(value, str) or not value:
        raise BadRequest(f"{field} is {value!r}; it must be text of 1 to {MAX_NAME} characters.", field=field)
    if len(value) > MAX_NAME:
        raise BadRequest(f"{field} has {len(value)} characters; the limit is {MAX_NAME}.", field=field)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadRequest(
            f"{field} contains half a surrogate pair, which is not text.", field=field
        ) from error
    if any(ord(letter) < 32 for letter in value):
        raise BadRequest(f"{field} contains a control character.", field=field)


def check_given_names(**values: Any) -> None:
    """Check each of these names that is not None; the keyword is the field."""
    for field, value in values.items():
        if value is not None:
            check_name(value, field)


def check_tags(tags: Any) -> None:
    """Require a list of names, and not text, which would be taken for a list of letters."""
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise BadRequest(f"tags is {tags!r}; give a list of strings.", field="tags")
    for tag in tags:
        check_name(tag, "tags")


def check_queue(queue: Any, action: str) -> None:
    """Require a valid queue name other than Kairos's own queue.

    Every worker of every app serves that queue, and a backlog in it would delay the delivery of alarms.
    """
    check_name(queue, "queue")
    if queue == OWN_QUEUE and not action.startswith(_OWN_ACTIONS):
        raise BadRequest(
            f"The queue {queue!r} is for Kairos' own jobs, such as webhooks: put {action} into another.",
            field="queue",
        )


def check_range(value: Any, field: str, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadRequest(
            f"{field} is {value!r}; it must be a whole number from {least} to {most}.", field=field
        )


def checked_id(value: Any, noun: str) -> int:
    """Return a valid id of a noun such as "job"; raise `NotFound` for a number that none can have."""
    if isinstance(value, bool) or not isinstance(value, int):
        article = "An" if noun[0] in "aeiou" else "A"
        raise BadRequest(f"{article} {noun}'s id is a whole number, not {value!r}.", field="id")
    if not 0 < value <= LARGEST_ID:
        raise NotFound(f"There is no {noun} {value}.")
    return value


def check_instant(value: Any, field: str) -> None:
    """Require a datetime with a time zone in the years 2 to 9998: some drivers treat the others as infinity.

    The year counts in UTC too: it may be another one there.
    """
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise BadRequest(f"{field} is {value!r}; it must be a datetime with a time zone.", field=field)
    for year in (value.year, _year_in_utc(value)):
        if not FIRST_YEAR <= year <= LAST_YEAR:
            raise BadRequest(
                f"{field} is in the year {year}; it must be from {FIRST_YEAR} to {LAST_YEAR}.", field=field
            )


def _year_in_utc(value: datetime) -> int:
    try:
        return value.astimezone(UTC).year
    except OverflowError:
        return value.year  # 1 or 9999, which is refused
