"""What an operator does: rows selected by hand, jobs changed, ticks made up for, a worker sent home."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.dashboard.site import APP, KAIROS, TIMEOUT, Site

Look = Callable[..., Any]


def later(site: Site, tag: str, count: int = 1) -> list[int]:
    """Jobs that are not due for hours, newest first as a page lists them."""
    return [site.enqueue("greet", {"name": tag}, when="in 3 hours", tags=[tag]) for _ in range(count)][::-1]


def box(page: Any, job: int) -> Any:
    return page.get_by_role("checkbox", name=f"Select job {job}", exact=True)


def test_rows_are_selected_one_by_one_in_a_range_and_by_keys(look: Look, site: Site) -> None:
    jobs = later(site, "picked", 5)
    page = look("/jobs/?tag=picked")
    selected = page.get_by_test_id("selected")
    box(page, jobs[1]).click()
    expect(selected).to_have_text("1 selected")
    box(page, jobs[3]).click(modifiers=["Shift"])
    expect(selected).to_have_text("3 selected")
    for job in jobs[1:4]:
        expect(box(page, job)).to_be_checked()
    for key in ("j", "x"):
        page.keyboard.press(key)
    expect(box(page, jobs[4])).to_be_checked()
    everything = page.get_by_role("checkbox", name="Select all on this page")
    assert everything.evaluate("each => each.indeterminate")
    everything.click()
    expect(selected).to_have_text("5 selected")
    page.keyboard.press("Escape")
    expect(selected).to_have_count(0)
    expect(box(page, jobs[4])).not_to_be_checked()


def test_selecting_a_row_moves_nothing(look: Look, site: Site) -> None:
    (job,) = later(site, "still")
    page = look("/jobs/?tag=still")
    before = box(page, job).bounding_box()
    box(page, job).click()
    expect(page.get_by_test_id("selected")).to_be_visible()
    assert box(page, job).bounding_box() == before


@pytest.mark.parametrize("width", [360, 1280])
def test_a_verb_on_a_selection_counts_first_and_names_those_that_refuse(
    look: Look, site: Site, width: int
) -> None:
    tag = f"chosen-{width}"
    jobs = later(site, tag, 4)
    ended = site.enqueue("greet", {"name": tag}, tags=[tag])
    site.until(ended, "success")
    page = look(f"/jobs/?tag={tag}", viewport={"width": width, "height": 740})
    for job in (ended, *jobs[:3]):
        box(page, job).click()
    bar = page.get_by_label("Selected jobs")
    assert bar.locator("[data-verb]").all_inner_texts() == [
        "Run now 3",
        "Snooze 3",
        "Retry 1",
        "Cancel 3",
        "Delete 1",
    ]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    bar.get_by_role("button", name="Cancel 3").click()
    sheet = page.get_by_role("dialog", name="Cancel 3 jobs")
    expect(sheet).to_contain_text("The state of 1 other selected job does not allow it")
    assert site.job(jobs[0])["state"] == "scheduled"
    site.call("POST", f"/api/jobs/{jobs[0]}/cancel", {})  # somebody was faster
    sheet.get_by_role("button", name="Cancel 3 jobs").click()
    expect(sheet.get_by_test_id("progress")).to_contain_text("2 of 3 done, 1 refused.")
    expect(sheet.get_by_test_id("refused-jobs")).to_contain_text(f"{jobs[0]} Job {jobs[0]} is cancelled")
    sheet.get_by_role("button", name="Close").last.click()
    expect(bar).to_have_count(0)
    assert [site.job(job)["state"] for job in (*jobs, ended)] == [*["cancelled"] * 3, "scheduled", "success"]


def test_who_may_only_look_can_select_nothing(look: Look, site: Site) -> None:
    later(site, "untouched")
    made = site.call("POST", "/api/keys", {"name": "looker", "scopes": ["read"]})["key"]
    page = look("/sign-in/?next=/jobs/%3Ftag%3Duntouched", signed=False)
    page.get_by_label("Key").fill(made["secret"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.locator("#main").get_by_role("checkbox")).to_have_count(0)


def test_a_job_that_waits_is_changed_and_what_is_wrong_is_told_at_its_field(look: Look, site: Site) -> None:
    (job,) = later(site, "changing")
    due = site.job(job)["runAt"]
    page = look(f"/job/?id={job}", timezone_id="America/New_York")
    page.get_by_role("button", name="Change", exact=True).click()
    sheet = page.get_by_role("dialog", name=f"Change job {job}")
    save = sheet.get_by_role("button", name="Save")
    expect(save).to_be_disabled()
    sheet.get_by_label("Priority").fill("99999")
    sheet.get_by_label("Queue").fill("slow/er")
    save.click()
    for name in ("Priority", "Queue"):
        expect(sheet.get_by_label(name)).to_have_attribute("aria-invalid", "true")
    sheet.get_by_label("Priority").fill("-7")
    sheet.get_by_label("Queue").fill("slow")
    sheet.get_by_label("Tags").fill("changing\na tag, with a comma")
    save.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#main")).to_contain_text("a tag, with a comma")
    changed = site.job(job)
    assert (changed["priority"], changed["queue"]) == (-7, "slow")
    assert changed["tags"] == ["changing", "a tag, with a comma"]
    assert changed["runAt"] == due  # what one leaves alone stays as it is

    page.get_by_role("button", name="Change", exact=True).click()
    sheet.get_by_label("Due").fill("2040-01-02T03:04:05")
    save.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert site.job(job)["runAt"].startswith("2040-01-02T08:04:05")


def test_a_job_that_has_ended_offers_no_change(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "over"})
    site.until(job, "success")
    page = look(f"/job/?id={job}")
    expect(page.locator("[data-verb=retry]")).to_be_visible()
    expect(page.get_by_role("button", name="Change", exact=True)).to_have_count(0)


def test_a_backfill_tells_how_many_ticks_before_it_fires_them(look: Look, site: Site) -> None:
    name = "missed"
    body = {"name": name, "when": "every day at 12:00", "action": "greet", "input": {"name": "you"}}
    site.call("POST", "/api/schedules", body)
    page = look(f"/schedule/?name={name}", timezone_id="UTC")
    page.get_by_role("button", name="Backfill").click()
    sheet = page.get_by_role("dialog")
    missed = sheet.get_by_test_id("missed")
    expect(missed).to_contain_text("1 tick")  # of the last day
    sheet.get_by_label("Up to").fill("2020-01-01T00:00:00")
    expect(sheet.get_by_label("Up to")).to_have_attribute("aria-invalid", "true")
    expect(sheet.get_by_role("button", name="Backfill")).to_be_disabled()

    sheet.get_by_label("After").fill("2025-03-01T12:00:00")  # a tick, and not one of those after it
    sheet.get_by_label("Up to").fill("2025-03-13T12:00:00")
    expect(missed).to_contain_text("12 ticks")
    assert site.call("GET", f"/api/schedules/{name}/ticks")["ticks"] == []
    sheet.get_by_role("button", name="Create 12 jobs").click()
    expect(page.get_by_role("status").filter(has_text="12 jobs of missed are accepted.")).to_be_visible()
    assert len(site.call("GET", f"/api/schedules/{name}/ticks")["ticks"]) == 12

    page.get_by_role("button", name="Backfill").click()
    sheet.get_by_label("After").fill("2025-03-10T00:00:00")
    sheet.get_by_label("Up to").fill("2025-03-15T00:00:00")
    expect(missed).to_contain_text("4 ticks in this time have run or been skipped already.")
    expect(sheet.get_by_role("button", name="Create 1 job")).to_be_enabled()


def test_the_diagram_shows_that_what_ran_was_picked_before(look: Look, site: Site) -> None:
    page = look("/")
    expect(page.locator("[data-connection=open]")).to_be_visible()
    line = page.locator("[data-edge='pending>running']")
    expect(line).to_have_count(1)
    deadline = time.monotonic() + TIMEOUT
    while line.get_attribute("data-passed") is None:  # counted from the service's first look on
        assert time.monotonic() < deadline, "no pick was shown"
        site.until(site.enqueue("greet", {"name": "passing"}), "success")
    expect(page.locator("[data-edge='running>success'][data-passed]")).to_have_count(1)


@pytest.fixture
def worker(site: Site) -> Iterator[subprocess.Popen[bytes]]:
    """A second worker, alone with a queue of its own."""
    command = [KAIROS, "worker", str(APP), "--queues", "drained", "--database-url", site.database]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield process
    process.kill()
    process.wait()


def test_a_drained_worker_finishes_what_it_runs_and_takes_nothing_new(
    look: Look, site: Site, worker: subprocess.Popen[bytes]
) -> None:
    first = site.enqueue("nap", {"seconds": 3600}, queue="drained")
    name = site.until(first, "running")["worker"]
    page = look("/workers/")
    row = page.locator(f"[data-worker='{name}']")
    row.get_by_role("button", name="Drain").click()
    page.get_by_role("button", name="Drain the worker").click()
    expect(row).to_contain_text("stopping")
    expect(row.get_by_role("button")).to_have_count(0)

    second = site.enqueue("nap", queue="drained")
    assert worker.poll() is None
    assert site.job(first)["state"] == "running"  # what it runs, it finishes
    site.call("POST", f"/api/jobs/{first}/cancel", {})
    site.until(first, "cancelled")
    assert worker.wait(TIMEOUT) == 0
    job = site.job(second)
    assert (job["state"], job["startedAt"], job["worker"]) == ("pending", None, None)
    site.call("POST", f"/api/jobs/{second}/cancel", {})
