"""Describe the first faults of a body and count the others, so that a wrong body is as cheap to refuse as a right one.

Pydantic finds every fault, and FastAPI turns each into a dictionary: 110,000 unknown fields took 2 seconds and made an
answer of 7 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from kairos.json_codec import shortened
from kairos.suggest import did_you_mean

MOST_FAULTS = 20
# The type of the error that stands for those that are not described.
MORE_FAULTS = "more_faults"

T = TypeVar("T")


class Faults:
    """The faults of one body with all models inside it: how many are described, and how many only counted."""

    def __init__(self) -> None:
        self.described = 0
        self.counted = 0
        self.placeholders = 0

    def without_most_unknown(self, value: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
        """Return the known fields of a document, and as many unknown ones as may be described."""
        if len(value) <= len(names) + MOST_FAULTS:
            return value
        unknown = [name for name in value if name not in names]
        self.counted += max(0, len(unknown) - MOST_FAULTS)
        return {name: value[name] for name in (*(names & value.keys()), *islice(unknown, MOST_FAULTS))}

    def limit(self, validate: Callable[[Any], T], value: Any, names: frozenset[str]) -> T:
        """Validate one model. Of its faults, describe no more than there is room for, and count the others.

        A model without a described fault raises a placeholder, for it must still fail.
        """
        described, placeholders = self.described, self.placeholders
        try:
            return validate(value)
        except ValidationError as error:
            # The errors of this model include those that a model inside it raised.
            found = error.error_count() - (self.placeholders - placeholders)
            kept = min(found, MOST_FAULTS - described)
            self.described, self.counted = described + kept, self.counted + found - kept
            self.placeholders = placeholders
            if kept == error.error_count() and not any(_is_unknown(each) for each in _described(error)):
                raise
            self.placeholders += kept == 0
            raise ValidationError.from_exception_data(
                error.title, _first(error, kept, names) if kept else [_placeholder(0)]
            ) from None

    def with_count(self, error: ValidationError) -> ValidationError:
        """Return the error of the whole body, with one that says how many faults it does not describe."""
        return ValidationError.from_exception_data(
            error.title, [*_first(error, MOST_FAULTS), _placeholder(self.counted)]
        )


_current: ContextVar[Faults | None] = ContextVar("faults of the body that is validated", default=None)


@contextmanager
def count_faults() -> Iterator[Faults]:
    """Yield the faults of the body that is validated; the outermost model begins and reports the count."""
    if (faults := _current.get()) is not None:
        yield faults
        return
    faults = Faults()
    token = _current.set(faults)
    try:
        yield faults
    except ValidationError as error:
        if not faults.counted:
            raise
        raise faults.with_count(error) from None
    finally:
        _current.reset(token)


def _described(error: ValidationError) -> Iterator[Any]:
    return (each for each in error.errors(include_url=False) if each["type"] != MORE_FAULTS)


def _first(error: ValidationError, most: int, names: Iterable[str] = ()) -> list[InitErrorDetails]:
    """Return the first errors that are no placeholders; what they say is kept as text."""
    return [
        InitErrorDetails(
            type=PydanticCustomError(each["type"], "{message}", {"message": _message(each, names)}),
            loc=each["loc"],
            input=None,
        )
        for each in islice(_described(error), most)
    ]


def _is_unknown(fault: Any) -> bool:
    """Whether the fault is an unknown field of this model itself, not of a model inside it."""
    return fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1


def _message(fault: Any, names: Iterable[str]) -> str:
    if not (names and _is_unknown(fault)):
        return str(fault["msg"])
    return f"there is no such field.{did_you_mean(shortened(str(fault['loc'][0])), names)}".removesuffix(".")


def _placeholder(more: int) -> InitErrorDetails:
    return InitErrorDetails(
        type=PydanticCustomError(MORE_FAULTS, "and {more} more", {"more": more}), loc=(), input=None
    )
