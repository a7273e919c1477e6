"""What one comes to a page for stands first on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.dashboard.site import Site

Look = Callable[..., Any]
LAPTOP = {"width": 1024, "height": 800}


def top(part: Any) -> float:
    expect(part).to_be_visible()
    return float(part.bounding_box()["y"])


def plot(page: Any) -> Any:
    return page.get_by_role("img", name="Jobs that ended, over time")


def test_a_schedule_says_when_it_fires_above_its_plots(look: Look, site: Site) -> None:
    made = {"name": "first", "when": "every day at 4am", "action": "greet", "input": {"name": "you"}}
    site.call("POST", "/api/schedules", made)
    page = look("/schedule/?name=first", viewport=LAPTOP)
    assert top(page.get_by_text("every day at 04:00 (UTC)")) < top(plot(page))


def test_a_queue_shows_its_counts_above_its_plots(look: Look, site: Site) -> None:
    site.enqueue("order", {"order_id": 1})
    page = look("/queue/?name=orders", viewport=LAPTOP)
    assert top(page.get_by_text("Limits", exact=True).last) < top(plot(page))


def test_a_queue_has_its_counts_however_many_queues_come_before_it(look: Look, site: Site) -> None:
    site.until(site.enqueue("order", {"order_id": 2}), "waiting")
    page = look("/machines/")
    page.route("**/api/queues", lambda route: route.fulfill(json={"queues": [], "nextCursor": None}))
    page.goto("/queue/?name=orders")
    waiting = page.locator("dl a[href*='state=waiting']")
    expect(waiting).to_be_visible()
    expect(waiting).not_to_have_text("0")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_a_job_shows_what_it_was_given_above_its_number_and_priority(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "order of panels"})
    site.until(job, "success")
    page = look(f"/job/?id={job}")
    assert top(page.get_by_role("heading", name="Input")) < top(
        page.get_by_role("heading", name="Job", exact=True)
    )


@pytest.mark.parametrize("width", [360, 1024])
def test_a_job_shows_what_it_was_given_and_knows_above_its_log(look: Look, site: Site, width: int) -> None:
    job = site.enqueue("checkout", {"email": "order@example.com"})
    site.until(job, "success")
    page = look(f"/job/?id={job}", viewport={"width": width, "height": 800})
    log = top(page.get_by_role("heading", name="Log"))
    assert top(page.get_by_role("heading", name="Timeline")) < log
    assert top(page.get_by_role("heading", name="Input")) < log
    assert top(page.get_by_role("heading", name="State")) < log < top(page.get_by_test_id("job-id"))


@pytest.mark.parametrize("width", [1024, 1280])
def test_a_schedules_name_is_not_broken_within_a_word(look: Look, site: Site, width: int) -> None:
    made = {
        "name": f"heartbeat-{width}",
        "when": "last business day of each month at 5pm",
        "action": "greet",
        "input": {"name": "you"},
    }
    site.call("POST", "/api/schedules", made)
    page = look("/schedules/", viewport={"width": width, "height": 800})
    name = page.get_by_role("link", name=f"heartbeat-{width}")
    expect(name).to_be_visible()
    assert name.evaluate("each => each.getClientRects().length") == 1


def test_the_audit_names_the_key_and_keeps_each_entry_on_one_line(look: Look, site: Site) -> None:
    site.call("POST", "/api/queues/audited/pause")
    site.call("POST", "/api/queues/audited/resume")
    page = look("/settings/?tab=audit", viewport=LAPTOP)
    row = page.get_by_role("row").filter(has_text="audited").first
    expect(row).to_contain_text("kairos dev")
    assert row.bounding_box()["height"] < 50


def test_the_palette_does_what_the_page_offers(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "palette"})
    site.until(job, "success")
    page = look(f"/job/?id={job}")
    expect(page.get_by_role("button", name="Run again with changes")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Go to or do")).to_be_focused()
    page.keyboard.type("run again")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name=f"Run job {job} again with changes")).to_be_visible()
