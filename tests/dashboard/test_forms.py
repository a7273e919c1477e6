"""Forms keep what one typed, and do nothing that one did not ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect
from tests.dashboard.site import Site

Look = Callable[..., Any]


def test_a_required_text_left_empty_is_not_enqueued(look: Look) -> None:
    page = look("/")
    page.get_by_role("button", name="Enqueue a job").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Action").select_option("greet")
    sheet.get_by_role("button", name="Enqueue", exact=True).click()
    expect(sheet.get_by_label("name", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(sheet).to_contain_text("name is required.")


def test_the_first_field_of_a_form_has_the_focus(look: Look) -> None:
    page = look("/jobs/?action=greet")
    page.get_by_role("button", name="Enqueue a job").click()
    expect(page.get_by_role("dialog").get_by_label("Action")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("dialog").get_by_role("button", name="Close")).to_be_focused()


def test_a_form_that_comes_later_than_its_sheet_has_the_focus(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "late"}, when="in 3 hours")
    page = look("/queues/")
    held: list[Any] = []
    page.route("**/api/machines*", lambda route: held.append(route))
    page.goto(f"/job/?id={job}")
    page.get_by_role("button", name="Run again with changes").click()
    expect(page.get_by_role("dialog").get_by_role("status", name="Loading")).to_be_visible()
    for route in held:
        route.continue_()
    expect(page.get_by_role("dialog").get_by_label("name", exact=True)).to_be_focused()


def test_a_click_beside_a_filled_form_keeps_it(look: Look) -> None:
    page = look("/")
    page.get_by_role("button", name="Enqueue a job").click()
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Action").select_option("greet")
    sheet.get_by_label("name", exact=True).fill("half an hour of typing")
    page.mouse.click(5, 400)
    expect(sheet.get_by_label("name", exact=True)).to_have_value("half an hour of typing")
    page.keyboard.press("Escape")
    expect(sheet.get_by_label("name", exact=True)).to_have_value("half an hour of typing")
    sheet.get_by_role("button", name="Discard").click()
    expect(sheet).to_have_count(0)


def test_a_bulk_action_is_chosen_and_never_preselected(look: Look, site: Site) -> None:
    site.enqueue("greet", {"name": "bulk"}, when="in 3 hours", tags=["unchosen"])
    page = look("/jobs/?tag=unchosen")
    page.get_by_role("button", name="Bulk actions").click()
    sheet = page.get_by_role("dialog")
    expect(sheet.locator("[aria-pressed]").first).to_be_visible()
    expect(sheet.locator("[aria-pressed=true]")).to_have_count(0)


def test_pausing_a_queue_asks_first(look: Look, site: Site) -> None:
    site.enqueue("echo", queue="asked", when="in 3 hours")
    page = look("/queues/")
    page.locator("[data-queue=asked]").get_by_role("button", name="Pause").click()
    sheet = page.get_by_role("dialog", name="Pause asked")
    expect(sheet).to_contain_text("No job of this queue starts until it is resumed.")
    paused = {each["name"]: each["pausedAt"] for each in site.call("GET", "/api/queues")["queues"]}
    assert paused["asked"] is None
    sheet.get_by_role("button", name="Pause the queue").click()
    expect(page.locator("[data-queue=asked]")).to_contain_text("paused")


def test_a_webhook_secret_is_not_said_to_be_hashed(look: Look) -> None:
    page = look("/settings/?tab=webhooks")
    page.get_by_role("button", name="New webhook").click()
    page.get_by_label("URL").fill("https://example.com/kept")
    page.get_by_role("button", name="Create webhook").click()
    sheet = page.get_by_role("dialog")
    expect(sheet.get_by_test_id("secret")).to_be_visible()
    expect(sheet).not_to_contain_text("hash")
    sheet.get_by_role("button", name="I have it").click()
