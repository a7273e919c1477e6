"""Keys do what they say, wherever the focus is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect
from tests.dashboard.site import Site

Look = Callable[..., Any]


@pytest.mark.parametrize("path", ["/jobs/?tag=enter", "/schedules/", "/machines/"])
def test_enter_follows_the_focused_link_of_a_list(look: Look, site: Site, path: str) -> None:
    site.enqueue("greet", {"name": "enter"}, tags=["enter"])
    if path == "/schedules/":
        site.call(
            "POST",
            "/api/schedules",
            {"name": "entered", "when": "every day at 4am", "action": "greet", "input": {"name": "you"}},
        )
    page = look(path)
    link = page.locator("[data-row] a[href]").first
    target = link.get_attribute("href") or ""
    link.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(re.escape(target) + "$"))


def test_enter_presses_the_focused_button_of_a_list(look: Look, site: Site) -> None:
    site.enqueue("greet", {"name": "enter"}, tags=["enter"])
    page = look("/jobs/?tag=enter")
    expect(page.locator("[data-row]").first).to_be_visible()
    page.get_by_role("button", name="Clear").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url("/jobs/")


def test_enter_opens_the_current_row_although_a_button_had_the_focus(look: Look, site: Site) -> None:
    jobs = [site.enqueue("greet", {"name": "row"}, tags=["focus"]) for _ in range(3)]
    page = look("/jobs/?tag=focus")
    expect(page.locator("[data-row]")).to_have_count(3)
    page.get_by_role("group", name="States").get_by_role("button", name="failed").focus()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-current=true]")).to_contain_text(str(jobs[1]))
    expect(page.get_by_role("link", name=str(jobs[1]), exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("job-id")).to_have_text(str(jobs[1]))


def test_a_row_that_gets_the_focus_by_tab_is_the_current_one(look: Look, site: Site) -> None:
    jobs = [site.enqueue("greet", {"name": "row"}, tags=["tabbed"]) for _ in range(2)]
    page = look("/jobs/?tag=tabbed")
    expect(page.locator("[data-row]")).to_have_count(2)
    page.get_by_role("link", name=str(jobs[0]), exact=True).focus()
    expect(page.locator("[data-current=true]")).to_contain_text(str(jobs[0]))
    page.keyboard.press("x")
    expect(page.get_by_role("checkbox", name=f"Select job {jobs[0]}", exact=True)).to_be_checked()


def test_the_cursor_stays_with_its_job_when_newer_ones_come(look: Look, site: Site) -> None:
    first = site.enqueue("greet", {"name": "one"}, tags=["cursor"], when="in 3 hours")
    page = look("/jobs/?tag=cursor")
    expect(page.locator("[data-row]")).to_have_count(1)
    page.keyboard.press("j")
    expect(page.locator("[data-current=true]")).to_contain_text(str(first))
    for _ in range(3):
        site.enqueue("greet", {"name": "newer"}, tags=["cursor"], when="in 3 hours")
    expect(page.get_by_role("button", name="3 new")).to_be_visible()
    page.get_by_role("button", name="3 new").click()
    expect(page.locator("[data-row]")).to_have_count(4)
    expect(page.locator("[data-current=true]")).to_contain_text(str(first))
    page.keyboard.press("x")
    expect(page.get_by_role("checkbox", name=f"Select job {first}", exact=True)).to_be_checked()
    expect(page.get_by_test_id("selected")).to_have_text("1 selected")


def test_a_page_reached_by_keys_has_no_frame_around_the_whole_of_it(look: Look, site: Site) -> None:
    job = site.enqueue("echo", key="framed")
    page = look("/jobs/?key=framed")
    expect(page.locator("[data-row]")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("job-id")).to_have_text(str(job))
    expect(page.locator("#main")).to_be_focused()
    expect(page.locator("#main")).to_have_css("outline-style", "none")


def test_a_job_that_runs_again_has_the_focus_at_the_top_of_its_page(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "again by keys"})
    site.until(job, "success")
    page = look(f"/job/?id={job}")
    page.get_by_role("button", name="Run again with changes").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("name", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("h1 [data-state=success]")).to_be_visible()
    expect(page.get_by_test_id("job-id")).not_to_have_text(str(job))
    expect(page.locator("#main")).to_be_focused()


def test_a_link_from_a_job_to_another_leads_to_the_top_of_its_page(look: Look, site: Site) -> None:
    job = site.enqueue("greet", {"name": "linked"})
    site.until(job, "success")
    retry = site.call("POST", f"/api/jobs/{job}/retry", {})["job"]["id"]
    page = look(f"/job/?id={job}", viewport={"width": 1280, "height": 400})
    page.get_by_role("link", name=str(retry), exact=True).focus()
    assert page.evaluate("scrollY") > 0
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("job-id")).to_have_text(str(retry))
    expect(page.locator("#main")).to_be_focused()
    assert page.evaluate("scrollY") == 0


def test_what_is_typed_before_the_palette_has_loaded_is_kept(look: Look) -> None:
    page = look("/queues/")
    sent = set(re.findall(r'src="(/_next/[^"]+)"', page.request.get("/workers/").text()))
    held: list[Any] = []
    later = re.compile(r"/_next/.*\.js$")
    page.route(
        lambda url: bool(later.search(url)) and urlsplit(url).path not in sent,
        lambda route: held.append(route) if typing else route.continue_(),
    )
    typing = True
    page.goto("/workers/")
    expect(page.locator("[data-connection=open]")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("que")
    typing = False
    for route in held:
        route.continue_()
    palette = page.get_by_role("combobox", name="Go to or do")
    expect(palette).to_be_focused()
    page.keyboard.type("ues")
    expect(palette).to_have_value("queues")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    expect(page.locator("#main")).to_be_focused()
