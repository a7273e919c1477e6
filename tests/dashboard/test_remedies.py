"""An alarm leads to what it is about, and what can be done about it is a button beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect
from tests.dashboard.site import Site
from tests.dashboard.test_now import alarm

Look = Callable[..., Any]


def with_alarm(page: Any, kind: str, subject: str, **changes: Any) -> None:
    """Let the service answer with this alarm alone."""
    raised = alarm(1, "error", kind=kind, subject=subject, **changes)
    page.route("**/api/alarms*", lambda route: route.fulfill(json={"alarms": [raised], "nextCursor": None}))


def test_a_paused_schedule_is_resumed_beside_its_alarm(look: Look, site: Site) -> None:
    made = {"name": "alarmed", "when": "every day at 4am", "action": "greet", "input": {"name": "you"}}
    site.call("POST", "/api/schedules", made)
    site.call("POST", "/api/schedules/alarmed/pause")
    page = look("/queues/")
    with_alarm(page, "schedule_paused", "alarmed")
    page.goto("/alarms/")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("status").filter(has_text="Resumed alarmed")).to_be_visible()
    assert site.call("GET", "/api/schedules/alarmed")["schedule"]["paused"] is False


def test_missed_ticks_lead_to_their_backfill(look: Look, site: Site) -> None:
    made = {"name": "overdue", "when": "every day at 4am", "action": "greet", "input": {"name": "you"}}
    site.call("POST", "/api/schedules", made)
    page = look("/queues/")
    with_alarm(page, "ticks_missed", "overdue")
    page.goto("/alarms/")
    page.get_by_role("link", name="Backfill…").click()
    expect(page.get_by_role("dialog")).to_contain_text("overdue")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url("/schedule/?name=overdue")


def test_failed_jobs_are_retried_beside_their_alarm_once_they_were_counted(look: Look, site: Site) -> None:
    site.until(site.enqueue("fail", {"why": "alarmed"}), "failed")
    page = look("/queues/")
    with_alarm(page, "jobs_failed", "fail")
    page.goto("/alarms/")
    page.get_by_role("button", name="Retry all…").click()
    sheet = page.get_by_role("dialog")
    expect(sheet).to_contain_text("failed, action fail")
    expect(sheet.get_by_role("button", name="Retry", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(sheet.get_by_test_id("matched")).to_contain_text("will be retried")


def test_an_alarm_about_postgres_leads_to_the_command_that_ends_it(look: Look) -> None:
    page = look("/queues/")
    with_alarm(page, "transaction_open", "pid 7", remedy="End it (`select pg_terminate_backend(7)`).")
    page.goto("/")
    page.locator("[data-alarm]").get_by_role("link", name="How to fix").click()
    expect(page).to_have_url("/alarms/")
    expect(page.get_by_role("button", name="Copy select pg_terminate_backend(7)")).to_be_visible()


def test_the_whole_sentence_of_an_alarm_is_one_key_away_from_its_line(look: Look) -> None:
    page = look("/queues/")
    with_alarm(page, "jobs_failed", "fail", cause="A long sentence. " * 20)
    page.goto("/")
    page.locator("[data-alarm]").get_by_role("link", name="A long sentence").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url("/alarms/")


def test_the_buttons_of_an_alarm_leave_its_sentence_the_width_of_a_laptop(look: Look) -> None:
    page = look("/queues/", viewport={"width": 1024, "height": 800})
    with_alarm(page, "jobs_failed", "fail", cause="2 jobs of fail failed; the last was job 7: no reason.")
    page.goto("/alarms/")
    sentence = page.get_by_text("2 jobs of fail failed")
    expect(sentence).to_be_visible()
    assert sentence.evaluate("each => each.getClientRects().length") == 1
    assert page.locator("[data-alarm] p").first.bounding_box()["width"] > 600
