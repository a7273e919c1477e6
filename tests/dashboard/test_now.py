"""The main view: every alarm counts, the worst first, and plots that do not move."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

Look = Callable[..., Any]


def alarm(number: int, severity: str, **changes: Any) -> dict[str, Any]:
    at = f"2026-01-02T03:{number:02}:00Z"
    return {
        "id": number,
        "kind": "jobs_failed",
        "subject": f"action-{number}",
        "severity": severity,
        "cause": f"cause {number}",
        "remedy": "Look at it with `kairos jobs ls`.",
        "count": 1,
        "firstAt": at,
        "lastAt": at,
        "acknowledgedAt": None,
        "acknowledgedBy": None,
        "clearedAt": None,
        **changes,
    }


def with_alarms(page: Any, count: int) -> None:
    alarms = [alarm(number, "error" if number == 0 else "warning") for number in range(count)]
    page.route(
        "**/api/alarms*",
        lambda route: route.fulfill(
            body=json.dumps({"alarms": alarms[::-1], "nextCursor": None}), content_type="application/json"
        ),
    )


def test_alarms_come_worst_first_and_those_left_out_are_counted(look: Look) -> None:
    page = look("/queues/")
    with_alarms(page, 13)
    page.goto("/")
    shown = page.locator("#main [data-alarm]")
    expect(shown).to_have_count(10)
    expect(shown.first).to_contain_text("cause 0")
    expect(shown.nth(1)).to_contain_text("cause 12")
    expect(page.get_by_role("link", name="3 more alarms")).to_be_visible()


def test_plots_stand_above_the_fold_with_ten_alarms_open(look: Look) -> None:
    page = look("/queues/")
    with_alarms(page, 10)
    page.goto("/")
    plot = page.get_by_role("img", name="Jobs that ended, over time")
    expect(plot).to_be_visible()
    box = plot.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 900


def test_hovering_a_plot_does_not_grow_its_card(look: Look) -> None:
    page = look("/", viewport={"width": 1280, "height": 2000})
    plot = page.get_by_role("img", name="Jobs that ended, over time")
    expect(plot).to_be_visible()
    card = page.locator("section", has=plot).last
    before = card.bounding_box()
    plot.hover()
    expect(page.locator("[data-readout]").first).not_to_be_empty()
    assert card.bounding_box() == before


def test_an_alarm_about_a_number_of_jobs_is_not_said_to_have_come_as_often(look: Look) -> None:
    page = look("/queues/")
    held = alarm(
        1, "error", kind="key_held_up", subject="order:42", cause="Key order:42 has 37 jobs", count=37
    )
    page.route("**/api/alarms*", lambda route: route.fulfill(json={"alarms": [held], "nextCursor": None}))
    for path in ("/", "/alarms/"):
        page.goto(path)
        row = page.locator("#main [data-alarm]")
        expect(row).to_contain_text("has 37 jobs")
        expect(row).not_to_contain_text("37 times")
        expect(row.get_by_role("link", name="Running job")).to_have_attribute(
            "href", "/jobs/?state=running&key=order%3A42"
        )
