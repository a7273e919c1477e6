"""What happens is seen when it happens, and a lost connection heals."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import psycopg
from playwright.sync_api import expect
from tests.dashboard.site import TIMEOUT, Site, Wire, row_of

Look = Callable[..., Any]
LINES = 400

_MANY_LINES = """
insert into kairos.logs (job_id, cursor, lease, said, at, level, line, step, attempt)
select %(job)s, 1 + n, 1, 1 + n, now(), 'info', 'line ' || n, 'run', 0 from generate_series(1, %(lines)s) n
"""
_SEEN = (
    "() => [...document.querySelectorAll('[role=log] [data-cursor]')].map(each => each.lastChild.textContent)"
)


def test_a_list_shows_a_new_job_and_its_end_without_a_reload(look: Look, site: Site) -> None:
    page = look("/jobs/?tag=live")
    expect(page.get_by_text("No job matches.")).to_be_visible()
    job = site.enqueue("nap", {"seconds": 3600}, tags=["live"])
    row = row_of(page, job)
    expect(row.locator("[data-state=running]")).to_be_visible()
    site.call("POST", f"/api/jobs/{job}/cancel", {})
    expect(row.locator("[data-state=cancelled]")).to_be_visible()


def test_the_diagram_counts_as_jobs_move(look: Look, site: Site) -> None:
    page = look("/")
    job = site.enqueue("nap", {"seconds": 3600})
    expect(page.locator("[data-node=running]")).to_contain_text(re.compile("[1-9]"))
    expect(page.get_by_role("link", name=re.compile(rf"nap.*{job}"))).to_be_visible()
    site.call("POST", f"/api/jobs/{job}/cancel", {})
    expect(page.get_by_role("link", name=re.compile(rf"nap.*{job}"))).to_have_count(0)


def test_a_log_follows_pauses_when_one_scrolls_up_and_follows_again(look: Look, site: Site) -> None:
    job = site.enqueue("write", {"lines": 100_000, "pause": 0.01})  # more than anybody waits for
    page = look(f"/job/?id={job}")
    log = page.get_by_role("log")
    expect(log).to_have_attribute("data-follows", "true")
    expect(log).to_have_attribute("data-lines", re.compile(r"^\d{3,}$"))
    log.hover()
    page.mouse.wheel(0, -400)
    expect(log).to_have_attribute("data-follows", "false")
    before = log.evaluate("each => each.scrollTop")
    lines = int(log.get_attribute("data-lines") or 0)
    page.wait_for_function("n => +document.querySelector('[role=log]').dataset.lines > n + 50", arg=lines)
    assert log.evaluate("each => each.scrollTop") == before
    page.get_by_role("button", name="Follow again").click()
    expect(log).to_have_attribute("data-follows", "true")
    page.wait_for_function("n => +document.querySelector('[role=log]').dataset.lines > n + 100", arg=lines)
    assert log.evaluate("each => each.scrollTop") > before
    site.call("POST", f"/api/jobs/{job}/cancel", {})
    expect(page.locator("h1 [data-state=cancelled]")).to_be_visible()
    expect(page.get_by_text("Complete")).to_be_visible()


def test_a_log_survives_a_lost_connection_without_gap_or_repeat(look: Look, site: Site, wire: Wire) -> None:
    page = look("/sign-in/", base=wire.url, signed=False)
    page.get_by_label("Key").fill(site.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Running now")).to_be_visible()
    job = site.enqueue("write", {"lines": LINES, "pause": 0.01})
    page.goto(f"/job/?id={job}")
    expect(page.get_by_role("log")).to_have_attribute("data-lines", re.compile(r"^\d{2,}$"))
    wire.cut()
    expect(page.get_by_role("alert").filter(has_text="The connection is lost.")).to_be_visible()
    wire.mend()
    expect(page.get_by_role("alert").filter(has_text="The connection is lost.")).to_have_count(0)
    log = page.get_by_role("log")
    expect(log).to_have_attribute("data-lines", str(LINES), timeout=60_000)
    page.get_by_text("Complete").wait_for()
    seen: list[str] = []
    for first in range(0, LINES, 20):
        log.evaluate("(each, top) => { each.scrollTop = top; }", first * 20)
        page.locator(f'[data-cursor="{first + 20}"]').wait_for()
        seen += page.evaluate(_SEEN)
    assert list(dict.fromkeys(seen)) == [f"line {number}" for number in range(LINES)]


def test_nothing_is_read_at_intervals_while_the_stream_is_open(look: Look, site: Site) -> None:
    page = look("/queues/")
    asked: list[str] = []
    page.on("request", lambda request: "/api/schedules" in request.url and asked.append(request.url))
    page.clock.install()
    page.goto("/schedules/")
    expect(page.locator("[data-connection=open]")).to_be_visible()
    deadline = time.monotonic() + TIMEOUT
    while len(asked) < 2:  # once for the page, and once more when the stream has begun
        assert time.monotonic() < deadline, "the page was not read again when the stream began"
        page.wait_for_timeout(50)
    asked.clear()
    page.clock.fast_forward(60_000)
    body = {"name": "told", "when": "every day at 4am", "action": "greet", "input": {"name": "you"}}
    site.call("POST", "/api/schedules", body)
    expect(page.get_by_role("link", name="told", exact=True)).to_be_visible()  # the stream says that it came
    assert len(asked) <= 2


def test_a_page_that_could_not_load_heals_by_itself(look: Look, site: Site, wire: Wire) -> None:
    site.enqueue("echo", queue="healing", when="in 3 hours")
    page = look("/sign-in/", base=wire.url, signed=False)
    page.get_by_label("Key").fill(site.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Running now")).to_be_visible()
    page.route("**/api/queues", lambda route: route.abort())
    page.get_by_role("link", name="Queues").click()
    expect(page.locator("#main").get_by_role("alert")).to_contain_text("cannot be reached")
    page.unroute("**/api/queues")
    expect(page.locator("[data-queue=healing]")).to_be_visible()


def test_a_hundred_thousand_lines_stay_light(look: Look, site: Site) -> None:
    job = site.enqueue("echo")
    site.until(job, "success")
    with psycopg.connect(site.database) as connection:
        connection.execute(_MANY_LINES, {"job": job, "lines": 100_000})
    page = look(f"/job/?id={job}")
    log = page.get_by_role("log")
    expect(log).to_have_attribute("data-lines", "100001", timeout=120_000)
    expect(log).to_contain_text("line 100000")
    assert page.locator("[data-cursor]").count() < 100
    log.evaluate("each => { each.scrollTop = 50_000 * 20; }")
    expect(log).to_contain_text("line 50000")


def test_the_rows_of_a_list_are_walked_by_keys(look: Look, site: Site) -> None:
    first = site.enqueue("greet", {"name": "one"}, tags=["keys"])
    second = site.enqueue("greet", {"name": "two"}, tags=["keys"])
    page = look("/jobs/?tag=keys")
    expect(page.locator("[data-row]")).to_have_count(2)
    page.keyboard.press("j")
    expect(page.locator("[data-row]").first).to_have_attribute("data-current", "true")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("job-id")).to_have_text(str(second))
    page.keyboard.press("/")
    page.keyboard.type(str(first))
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("job-id")).to_have_text(str(first))
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_offline_browser_says_so_and_how_old_what_it_shows_is(look: Look) -> None:
    page = look("/", viewport={"width": 1280, "height": 902})
    badge = page.locator("[data-connection]")
    expect(badge).to_have_text("Live")
    page.context.set_offline(True)
    expect(badge).to_have_text(re.compile(r"^Offline · [\d.]+ s old$"))
    expect(page.get_by_role("alert").filter(has_text="This browser is offline.")).to_be_visible()
    page.context.set_offline(False)
    expect(badge).to_have_text("Live")
    expect(page.get_by_role("alert").filter(has_text="offline")).to_have_count(0)


def test_a_browser_that_calls_itself_offline_stays_live_while_the_service_answers(look: Look) -> None:
    page = look("/queues/")
    expect(page.locator("[data-connection=open]")).to_be_visible()
    with page.expect_response(lambda answer: "/api/events" in answer.url):
        page.evaluate(
            "Object.defineProperty(navigator, 'onLine', { value: false });"
            "window.dispatchEvent(new Event('offline'))"
        )
    expect(page.locator("[data-connection]")).to_have_text("Live")


def test_a_lost_service_is_reconnected_to(look: Look, site: Site, wire: Wire) -> None:
    page = look("/sign-in/", base=wire.url, signed=False)
    page.get_by_label("Key").fill(site.key)
    page.get_by_role("button", name="Sign in").click()
    badge = page.locator("[data-connection]")
    expect(badge).to_have_text("Live")
    wire.cut()
    expect(badge).to_have_text(re.compile(r"^Reconnecting · [\d.]+ s old$"))
    wire.mend()
    expect(badge).to_have_text("Live")
