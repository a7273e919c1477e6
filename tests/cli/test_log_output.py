"""One event is one line of the log, whatever text a stranger puts into it."""

from __future__ import annotations

from typing import Any

from kairos.cli.log_output import Format, processors_of

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
