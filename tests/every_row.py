"""One test for a whole table: it checks every row, and fails once with every row that does not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

Row = TypeVar("Row")


def every_row(rows: Sequence[Row]) -> Callable[[Callable[[Row], None]], Callable[[], None]]:
    """Turn a check of one row into a test of the table; the table is not empty."""

    def decorate(check: Callable[[Row], None]) -> Callable[[], None]:
        def test() -> None:
            assert rows, "the table is empty"
            wrong = [f"{row!r}: {error}" for row in rows if (error := failure(check, row)) is not None]
            assert not wrong, f"{len(wrong)} of {len(rows)} rows:\n" + "\n\n".join(wrong)

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorate


def failure(check: Callable[[Row], None], row: Row) -> str | None:
    """Return why the check of this row fails, or None."""
    try:
        check(row)
    except (Exception, pytest.fail.Exception) as error:
        return f"{type(error).__name__}: {error}"
    return None
