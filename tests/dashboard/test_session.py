"""Signing in and out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect
from tests.dashboard.site import Site

Look = Callable[..., Any]


def test_a_stranger_is_asked_for_a_key_and_then_shown_what_they_came_for(look: Look, site: Site) -> None:
    page = look("/queues/?x=1", signed=False)
    expect(page).to_have_url(re.compile(r"/sign-in/\?next="))
    page.get_by_label("Key").fill(site.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    expect(page).to_have_url("/queues/?x=1")


def test_a_wrong_key_is_refused_in_words(look: Look) -> None:
    page = look("/sign-in/", signed=False)
    page.get_by_label("Key").fill("kr_0000000000000000_nobody")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Key")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Sign in")).to_be_enabled()


def test_signing_in_never_leads_to_another_site(look: Look, site: Site) -> None:
    page = look("/sign-in/?next=//example.org/", signed=False)
    page.get_by_label("Key").fill(site.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url("/")


def test_who_signs_out_sees_nothing_any_more(look: Look, site: Site) -> None:
    page = look("/sign-in/", signed=False)
    page.get_by_label("Key").fill(site.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Running now")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto("/jobs/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_who_is_signed_out_by_the_service_is_told_that_the_session_ended(look: Look, site: Site) -> None:
    page = look("/sign-in/", signed=False)
    page.get_by_label("Key").fill(site.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Running now")).to_be_visible()
    page.context.clear_cookies()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Workers").click()
    expect(page.get_by_text("Your session has ended.")).to_be_visible()
    page.get_by_label("Key").fill(site.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Workers")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_text("Your session has ended.")).to_have_count(0)


def test_a_key_that_may_only_look_is_offered_nothing_to_do(look: Look, site: Site) -> None:
    made = site.call("POST", "/api/keys", {"name": "visitor", "scopes": ["read"]})["key"]
    job = site.enqueue("greet", {"name": "later"}, when="in 3 hours")
    page = look("/sign-in/", signed=False)
    page.get_by_label("Key").fill(made["secret"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Running now")).to_be_visible()
    expect(page.get_by_role("button", name="Enqueue a job")).to_have_count(0)
    page.goto(f"/job/?id={job}")
    expect(page.get_by_text("Timeline")).to_be_visible()
    expect(page.locator("[data-verb]")).to_have_count(0)
    page.goto("/settings/")
    expect(page.get_by_text("Your key may not see the settings.")).to_be_visible()
