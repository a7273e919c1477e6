"""Everything a person can do, done with a mouse."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect
from tests.dashboard.site import Site

Look = Callable[..., Any]


def test_a_job_is_enqueued_from_a_form_of_its_own_arguments(look: Look, site: Site) -> None:
    page = look("/")
    page.get_by_role("button", name="Enqueue a job").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Action").select_option("greet")
    sheet.get_by_label("name", exact=True).fill("a person")
    sheet.get_by_label("times").fill("2")
    sheet.get_by_role("button", name="Enqueue", exact=True).click()
    page.get_by_role("status").get_by_role("link").click()
    expect(page.get_by_label("Output", exact=True)).to_contain_text("Hello, a person!Hello, a person!")


def test_a_wrong_argument_is_told_at_its_field(look: Look) -> None:
    page = look("/")
    page.get_by_role("button", name="Enqueue a job").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Action").select_option("greet")
    sheet.get_by_label("times").fill("two")
    sheet.get_by_role("button", name="Enqueue", exact=True).click()
    expect(sheet.get_by_label("times")).to_have_attribute("aria-invalid", "true")
    expect(sheet).to_contain_text("This is not a number.")


def test_a_job_for_later_is_brought_forward(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "soon"}, when="in 3 hours")
    page = look(f"/job/?id={job}")
    expect(page.get_by_role("log")).to_contain_text("It is due in")
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_label("Output", exact=True)).to_contain_text("Hello, soon!")


def test_a_job_is_snoozed_with_a_reason(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "later"}, when="in 3 hours")
    page = look(f"/job/?id={job}")
    page.get_by_role("button", name="Snooze").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("For").fill("1h")
    sheet.get_by_role("button", name="Snooze the job").click()
    expect(sheet.get_by_role("alert")).to_contain_text("it is not due before that time")
    sheet.get_by_label("For").fill("30d")
    sheet.get_by_label("Reason").fill("after the holidays")
    sheet.get_by_role("button", name="Snooze the job").click()
    page.get_by_role("button", name="Show every change").click()
    expect(page.get_by_test_id("timeline")).to_contain_text("after the holidays")
    assert site.job(job)["state"] == "scheduled"


def test_a_running_job_is_cancelled_with_a_reason(look: Look, site: Site) -> None:
    job = site.enqueue("nap", {"seconds": 3600})
    site.until(job, "running")
    page = look(f"/job/?id={job}")
    expect(page.get_by_text("1 of 4")).to_be_visible()
    page.locator("[data-verb=cancel]").click()
    page.get_by_label("Reason").fill("the customer called")
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator("h1 [data-state=cancelled]")).to_be_visible()
    expect(page.locator("#main")).to_contain_text("the customer called")
    assert site.job(job)["state"] == "cancelled"


def test_a_retry_is_a_new_job_that_names_the_old_one(look: Look, site: Site) -> None:
    job = site.enqueue("fail", {"why": "bad luck"})
    site.until(job, "failed")
    page = look(f"/job/?id={job}")
    page.locator("[data-verb=retry]").click()
    expect(page).not_to_have_url(re.compile(rf"id={job}$"))
    expect(page.get_by_role("link", name=str(job), exact=True)).to_be_visible()


def test_a_signal_wakes_a_waiting_job(look: Look, site: Site) -> None:
    job = site.enqueue("order", {"order_id": 9})
    site.until(job, "waiting")
    page = look(f"/job/?id={job}")
    page.locator("[data-verb=signal]").click()
    expect(page.get_by_label("Name")).to_have_value("delivered")
    page.get_by_label("Payload").fill('{"at": 9007199254740993}')
    page.get_by_role("button", name="Send signal").click()
    expect(page.get_by_label("Output", exact=True)).to_contain_text("9007199254740993")


def test_a_finished_job_is_deleted(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "gone"})
    site.until(job, "success")
    page = look(f"/job/?id={job}")
    page.locator("[data-verb=delete]").click()
    page.get_by_role("button", name="Delete the job").click()
    expect(page).to_have_url("/jobs/")
    page.goto(f"/job/?id={job}")
    expect(page.locator("#main").get_by_role("alert")).to_be_visible()


def test_the_buttons_of_a_job_are_what_it_can(look: Look, site: Site) -> None:
    jobs = [site.enqueue("greet", {"name": "later"}, when="in 3 hours"), site.enqueue("fail")]
    site.until(jobs[1], "failed")
    for job in jobs:
        page = look(f"/job/?id={job}")
        expect(page.locator("[data-verb]").first).to_be_visible()
        shown = page.locator("[data-verb]").evaluate_all("all => all.map(each => each.dataset.verb)")
        assert shown == site.job(job)["can"]


def test_what_ends_or_destroys_a_job_stands_last(look: Look, site: Site) -> None:
    job = site.enqueue("order", {"order_id": 12})
    site.until(job, "waiting")
    page = look(f"/job/?id={job}")
    expect(page.get_by_role("button", name="Send delivered")).to_be_visible()
    expect(page.get_by_role("button", name="Copy as")).to_be_visible()
    buttons = page.locator("h1").locator("xpath=../..").get_by_role("button")
    expect(buttons.last).to_have_attribute("data-verb", "cancel")


def test_a_bulk_action_shows_the_count_first_and_then_its_progress(look: Look, site: Site) -> None:
    jobs = [site.enqueue("greet", {"name": "bulk"}, when="in 3 hours", tags=["bulk"]) for _ in range(7)]
    page = look("/jobs/?tag=bulk")
    expect(page.locator("[data-row]")).to_have_count(7)
    page.get_by_role("button", name="Bulk actions").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_role("button", name="Cancel", exact=True).click()
    expect(sheet.get_by_test_id("matched")).to_contain_text("7 jobs will be cancelled.")
    assert site.job(jobs[0])["state"] == "scheduled"
    sheet.get_by_role("button", name="Cancel 7 jobs").click()
    expect(sheet.get_by_test_id("progress")).to_contain_text("7 of 7 done.")
    sheet.get_by_role("button", name="Close").last.click()
    expect(page.locator("[data-row] [data-state=cancelled]")).to_have_count(7)


def test_a_queue_is_paused_limited_and_resumed(look: Look, site: Site) -> None:
    site.enqueue("echo", queue="limited", when="in 3 hours")
    page = look("/queues/")
    row = page.locator("[data-queue=limited]")
    row.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Pause the queue").click()
    expect(row).to_contain_text("paused")
    row.get_by_role("button", name="Resume").click()
    expect(row).not_to_contain_text("paused")
    row.get_by_role("button", name="Limits of limited").click()
    page.get_by_label("Running at a time", exact=True).fill("3")
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("3 at a time")


def test_a_schedule_is_made_from_words(look: Look, site: Site) -> None:
    page = look("/schedules/", timezone_id="America/New_York")
    page.get_by_role("button", name="New schedule").click()
    sheet = page.get_by_role("dialog")
    when = sheet.get_by_label("When")

    when.fill("every monday")
    expect(sheet.get_by_test_id("refused")).to_contain_text("^")
    sheet.get_by_test_id("refused").get_by_role("button").first.click()
    expect(sheet.get_by_test_id("sentence")).to_contain_text("every monday at")

    when.fill("every weekday at 9am in London")
    expect(sheet.get_by_test_id("sentence")).to_have_text("every weekday at 09:00 (Europe/London)")
    expect(sheet.get_by_test_id("compiled")).to_contain_text("America/New_York (yours)")
    sheet.get_by_label("Name", exact=True).fill("by-hand")
    sheet.get_by_label("Action").select_option("greet")
    sheet.get_by_label("name", exact=True).fill("schedule")
    sheet.get_by_role("button", name="Create schedule").click()
    expect(page.get_by_role("heading", name="by-hand")).to_be_visible()
    assert site.call("GET", "/api/schedules/by-hand")["schedule"]["input"]["name"] == "schedule"

    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#main")).to_contain_text("It does not fire until it is resumed.")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#main")).not_to_contain_text("It does not fire until it is resumed.")
    page.get_by_role("button", name="Trigger now").click()
    expect(page.get_by_role("status").filter(has_text="is accepted")).to_be_visible()

    page.get_by_role("button", name="Change", exact=True).click()
    page.get_by_role("dialog").get_by_label("When").fill("every day at 10:30")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#main")).to_contain_text("every day at 10:30")

    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete the schedule").click()
    expect(page).to_have_url("/schedules/")


def test_a_key_is_made_shown_once_and_revoked(look: Look) -> None:
    page = look("/settings/")
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name").fill("robot")
    page.get_by_label("Scope").select_option("enqueue")
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_test_id("secret")).to_contain_text("kr_")
    page.get_by_role("button", name="I have it").click()
    expect(page.get_by_test_id("secret")).to_have_count(0)
    page.get_by_role("button", name="Revoke robot").click()
    page.get_by_role("button", name="Revoke the key").click()
    expect(page.locator("tr", has_text="robot")).to_contain_text("revoked")


def test_a_webhook_is_made_paused_and_deleted(look: Look) -> None:
    page = look("/settings/?tab=webhooks")
    page.get_by_role("button", name="New webhook").click()
    page.get_by_label("URL").fill("https://example.com/alarms")
    page.get_by_role("button", name="Create webhook").click()
    expect(page.get_by_test_id("secret")).to_be_visible()
    page.get_by_role("button", name="I have it").click()
    row = page.locator("li", has_text="https://example.com/alarms")
    row.get_by_role("button", name="Pause").click()
    expect(row).to_contain_text("paused")
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete the webhook").click()
    expect(row).to_have_count(0)


def test_an_alarm_is_loud_until_it_is_acknowledged(look: Look, site: Site) -> None:
    site.until(site.enqueue("fail", {"why": "loud"}), "failed")
    page = look("/alarms/?all=true")
    # Other actions fail in this site too, and the list moves the newest to the top.
    alarm = page.locator("[data-alarm=jobs_failed]").filter(
        has=page.get_by_text("jobs_failed fail", exact=True)
    )
    expect(alarm).to_be_visible(timeout=60_000)
    button = alarm.get_by_role("button", name="Acknowledge")
    if button.count():
        button.click()
    expect(alarm).to_contain_text("acknowledged")
