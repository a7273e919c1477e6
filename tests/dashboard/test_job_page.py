"""One job: what it was, where its time went, and what can be done with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect
from tests.dashboard.site import Site

Look = Callable[..., Any]


def fact(page: Any, name: str) -> Any:
    return page.locator("dl dt", has_text=re.compile(f"^{name}$")).locator("xpath=following-sibling::dd[1]")


@pytest.fixture(scope="module")
def flaky(site: Site) -> int:
    """A job that failed once, backed off for two seconds and then worked."""
    job = site.enqueue("flaky", {"failures": 1})
    site.until(job, "success")
    return job


def test_time_spent_backing_off_is_not_told_as_running(look: Look, flaky: int) -> None:
    page = look(f"/job/?id={flaky}")
    expect(fact(page, "Ran for")).to_have_text(re.compile(r"^(<1|\d+) ms"))


def test_a_job_is_not_due_after_it_started(look: Look, flaky: int) -> None:
    page = look(f"/job/?id={flaky}")
    expect(fact(page, "Started")).to_be_visible()
    expect(fact(page, "Due")).to_have_count(0)


def test_when_a_job_ran_is_told_by_the_clock_too(look: Look, site: Site, flaky: int) -> None:
    page = look(f"/job/?id={flaky}", timezone_id="Asia/Tokyo")
    for name in ("Accepted", "Started", "Ended"):
        expect(fact(page, name)).to_contain_text(re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"))
    ended = datetime.fromisoformat(site.job(flaky)["completedAt"]).astimezone(ZoneInfo("Asia/Tokyo"))
    expect(fact(page, "Ended")).to_contain_text(f"{ended:%Y-%m-%d %H:%M:%S}")
    page.get_by_role("button", name="Show times in UTC").click()
    expect(fact(page, "Ended")).to_contain_text(f"{ended.astimezone(UTC):%Y-%m-%d %H:%M:%S}")


def test_a_tab_is_called_after_its_job(look: Look, flaky: int) -> None:
    page = look(f"/job/?id={flaky}")
    expect(page).to_have_title(f"flaky {flaky} success · Kairos")
    page.goto("/queues/")
    expect(page).to_have_title("Queues · Kairos")


def test_progress_is_shown_as_the_stream_tells_it(look: Look, site: Site) -> None:
    job = site.enqueue("nap", {"seconds": 3600})
    site.until(job, "running")
    page = look("/queues/")
    page.route(
        f"**/api/jobs/{job}/events*",
        lambda route: route.fulfill(
            body='event: progress\ndata: {"done": 3, "total": 4}\n\n', content_type="text/event-stream"
        ),
    )
    page.goto(f"/job/?id={job}")
    expect(page.get_by_text("3 of 4")).to_be_visible()
    site.call("POST", f"/api/jobs/{job}/cancel", {})


def test_going_to_another_page_while_offline_stays_in_the_dashboard(
    look: Look, site: Site, flaky: int
) -> None:
    site.enqueue("echo", queue="offline", when="in 3 hours")
    page = look(f"/job/?id={flaky}", viewport={"width": 1280, "height": 901})
    expect(page.locator("[data-connection=open]")).to_be_visible()
    page.wait_for_function("() => document.documentElement.dataset.pages === 'ready'")
    page.context.set_offline(True)
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Queues").click()
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    expect(page.locator("#main")).to_contain_text("cannot be reached")
    page.context.set_offline(False)
    expect(page.locator("[data-queue=offline]")).to_be_visible()
