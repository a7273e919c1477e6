"""The list of jobs: one question to the service, rows that hold still, counts that obey the filters."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect
from tests.dashboard.site import Site, row_of

Look = Callable[..., Any]

_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: 'layout-shift', buffered: true });
"""


def test_a_list_that_is_pointed_at_holds_still_and_says_how_many_are_new(look: Look, site: Site) -> None:
    old = site.enqueue("greet", {"name": "old"}, tags=["still-list"], when="in 3 hours")
    page = look("/jobs/?tag=still-list")
    row = row_of(page, old)
    row.hover()
    before = row.bounding_box()
    for _ in range(2):
        site.enqueue("greet", {"name": "new"}, tags=["still-list"], when="in 3 hours")
    expect(page.get_by_role("button", name="2 new")).to_be_visible()
    assert row.bounding_box() == before
    expect(page.locator("[data-row]")).to_have_count(1)
    page.get_by_role("button", name="2 new").click()
    expect(page.locator("[data-row]")).to_have_count(3)


def test_a_list_that_holds_still_shows_how_its_jobs_change(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "old"}, tags=["held"], when="in 3 hours")
    page = look("/jobs/?tag=held")
    row = row_of(page, job)
    row.hover()
    site.call("POST", f"/api/jobs/{job}/cancel", {})
    expect(row.locator("[data-state=cancelled]")).to_be_visible()


def test_a_filter_is_one_question_even_where_nothing_matches(look: Look, site: Site) -> None:
    page = look("/queues/")
    asked: list[str] = []

    def nothing_yet(route: Any) -> None:
        asked.append(route.request.url)
        answer = {"jobs": [], "nextCursor": f"c{len(asked)}", "searchedTo": "2026-01-02T03:04:05Z"}
        route.fulfill(body=json.dumps(answer), content_type="application/json")

    page.route("**/api/jobs?*", nothing_yet)
    page.goto("/jobs/?text=needle")
    expect(page.get_by_role("button", name="Search older jobs")).to_be_visible()
    expect(page.locator("#main")).to_contain_text("No match back to")
    assert all("cursor=" not in url for url in asked)


def test_counts_on_the_states_obey_the_other_filters(look: Look, site: Site) -> None:
    for _ in range(2):
        site.enqueue("greet", {"name": "counted"}, tags=["counted"], when="in 3 hours")
    page = look("/jobs/?tag=counted&state=scheduled")
    states = page.get_by_role("group", name="States")
    expect(states.get_by_role("button", name="scheduled")).to_have_text("scheduled2")
    expect(states.get_by_role("button", name="failed")).to_have_text("failed0")


def test_nothing_jumps_while_the_list_loads_and_grows(look: Look, site: Site) -> None:
    page = look("/queues/")
    page.add_init_script(_SHIFTS)
    page.goto("/jobs/")
    expect(page.locator("[data-row]").first).to_be_visible()
    for number in range(5):
        job = site.enqueue(
            "greet", {"name": f"number {number}, with a rather long name in its arguments"}, tags=["long" * 9]
        )
        expect(row_of(page, job).locator("[data-state=success]")).to_be_visible()
    assert page.evaluate("window.shifted") < 0.05


def test_a_row_shows_its_arguments_and_is_a_link_as_a_whole(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "ada@example.com", "times": 3}, tags=["preview"])
    page = look("/jobs/?tag=preview")
    row = row_of(page, job)
    expect(row).to_contain_text("name: ada@example.com")
    box = row.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2)
    expect(page.get_by_test_id("job-id")).to_have_text(str(job))


def test_a_search_by_argument_becomes_a_filter_that_the_service_answers(look: Look, site: Site) -> None:
    mail = "ada.searched@example.com"
    wanted = site.enqueue("greet", {"name": mail}, tags=["vip"])
    site.enqueue("greet", {"name": mail}, tags=["other"])
    site.enqueue("greet", {"name": "bob@example.com"}, tags=["vip"])
    page = look("/jobs/")
    page.get_by_role("searchbox", name="Search jobs").fill(f"name:{mail}")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/jobs/?input=name%3Aada.searched%40example.com")
    expect(page.locator("[data-row]")).to_have_count(2)
    page.get_by_role("searchbox", name="Search jobs").fill("tag:vip")
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.locator("[data-row]")).to_contain_text(str(wanted))
    states = page.get_by_role("group", name="States")
    expect(states.get_by_role("button", name="success")).to_have_text("success1")
    page.get_by_role("button", name=f"Remove the filter name:{mail}").click()
    expect(page).to_have_url("/jobs/?tag=vip")


def test_a_count_that_ends_before_the_last_job_does_not_claim_that_there_is_none(look: Look) -> None:
    page = look("/queues/")
    counted = {"scheduled": 0, "failed": 3, "success": 2}
    answer = {"counts": counted, "capped": True, "atLeast": ["scheduled", "failed"]}
    page.route("**/api/jobs/counts?*", lambda route: route.fulfill(json=answer))
    page.goto("/jobs/?text=needle")
    states = page.get_by_role("group", name="States")
    expect(states.get_by_role("button", name="failed")).to_have_text("failed3+")
    expect(states.get_by_role("button", name="scheduled")).to_have_text("scheduled0+")
    expect(states.get_by_role("button", name="success")).to_have_text("success2")


def test_words_without_a_name_are_found_as_a_key_or_in_an_error(look: Look, site: Site) -> None:
    keyed = site.enqueue("echo", {"value": 1}, key="parcel:4711")
    failed = site.enqueue("fail", {"why": "the toaster exploded at noon"})
    site.until(failed, "failed")
    page = look("/jobs/")
    search = page.get_by_role("searchbox", name="Search jobs")
    search.fill("parcel:4711")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/jobs/?key=parcel%3A4711")
    expect(row_of(page, keyed)).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    search.fill("toaster exploded")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/jobs/?errorText=toaster+exploded")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(row_of(page, failed)).to_be_visible()
    expect(page.get_by_role("button", name="Remove the filter error: toaster exploded")).to_be_visible()
