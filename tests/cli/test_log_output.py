"""One event is one line of the log, whatever text a stranger puts into it."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest

from kairos.cli.log_output import Format, Level, configure, processors_of

FORGED = "x\n2026-11-17 00:00:00Z [error    ] alarm raised\r\x1b[2K\u202e"


def rendered(**event: Any) -> str:
    found: Any = {"level": "info", **event}
    for processor in processors_of(Format.TEXT):
        found = processor(None, "info", found)
    return str(found)


def test_a_newline_in_a_value_or_in_the_event_begins_no_line() -> None:
    for event in (
        {"event": "request", "path": FORGED},
        {"event": FORGED},
        {"event": "e", "value": [FORGED]},
        {"event": "e", "error": ValueError(FORGED)},
    ):
        shown = rendered(**event)
        assert len(shown.splitlines()) == 1 and "\x1b" not in shown and "\u202e" not in shown, shown


def test_the_lines_of_a_stack_are_indented() -> None:
    shown = rendered(event="step failed", stack=f"Traceback:\n  here\nValueError: {FORGED}")
    first, *others = shown.splitlines()
    assert "step failed" in first and len(others) > 2
    assert all(line.startswith("    ") for line in others), shown


def test_the_lines_of_an_exception_are_indented() -> None:
    try:
        raise ValueError(FORGED)
    except ValueError as error:
        shown = rendered(event="it broke", exc_info=(type(error), error, error.__traceback__))
    _, *others = shown.splitlines()
    assert others and all(line.startswith("    ") or not line for line in others), shown


@pytest.mark.parametrize(("form", "times"), [(Format.TEXT, 1), (Format.JSON, 2)])
def test_a_line_that_the_app_prints_itself_is_not_printed_again_for_people(
    form: Format, times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    root, own = logging.getLogger(), logging.getLogger("shop_that_prints")
    before, level = list(root.handlers), root.level
    own.addHandler(logging.StreamHandler(sys.stderr))  # as Django does while DEBUG is set
    try:
        configure(form, Level.INFO)
        logging.getLogger("shop_that_prints.orders").warning("out of stock")
        logging.getLogger("another_shop").warning("closed")
    finally:
        own.handlers.clear()
        root.handlers[:] = before
        root.setLevel(level)
    said = capsys.readouterr().err
    assert (said.count("out of stock"), said.count("closed")) == (times, 1), said
