"""Every page, in every light and at every width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.dashboard.conftest import close
from tests.dashboard.site import Site

AXE = Path(__file__).parents[2] / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
Look = Callable[..., Any]

PAGES = {
    "now": ("/", "Running now"),
    "jobs": ("/jobs/", "Newest first"),
    "job": ("/job/?id={job}", "Timeline"),
    "errors": ("/errors/", "Errors"),
    "machines": ("/machines/", "long"),
    "machine": ("/machine/?name=long", "step_19"),
    "lifecycle": ("/lifecycle/", "Every change that can happen to a job"),
    "schedules": ("/schedules/", "every weekday at 09:00"),
    "schedule": ("/schedule/?name=every-morning", "Next ticks"),
    "queues": ("/queues/", "default"),
    "queue": ("/queue/?name=default", "Workers"),
    "workers": ("/workers/", "live"),
    "worker": ("/worker/?id={worker}", "Last seen"),
    "alarms": ("/alarms/", "Show cleared alarms"),
    "keys": ("/settings/", "kairos dev"),
    "webhooks": ("/settings/?tab=webhooks", "New webhook"),
    "audit": ("/settings/?tab=audit", "enqueueJob"),
}
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
SERIOUS = """
async options => {
  const { passes, violations } = await axe.run(document, { resultTypes: ['violations'], ...options });
  const serious = violations.filter(each => ['serious', 'critical'].includes(each.impact));
  const shown = each => [each.id, each.nodes.map(node => node.html.slice(0, 200))];
  return { passes: passes.length, serious: serious.map(shown) };
}
"""


@pytest.fixture(scope="module")
def filled(site: Site) -> dict[str, Any]:
    """Something for every page to show."""
    job = site.enqueue("order", {"order_id": 7}, key="order:7", tags=["customer:7"])
    site.until(job, "waiting")
    site.until(site.enqueue("fail", {"why": "the printer is on fire"}), "failed")
    site.until(site.enqueue("greet", {"name": "world"}), "success")
    site.enqueue("greet", {"name": "later"}, when="in 3 hours")
    site.call(
        "POST",
        "/api/schedules",
        {
            "name": "every-morning",
            "when": "every weekday at 9am in London",
            "action": "greet",
            "input": {"name": "you"},
        },
    )
    return {"job": job, "worker": site.call("GET", "/api/workers")["workers"][0]["id"]}


@pytest.fixture(scope="module", params=list(PAGES))
def page(request: pytest.FixtureRequest, open_page: Look, filled: dict[str, Any]) -> Iterator[Any]:
    """Each page, opened once and looked at in several ways."""
    path, text = PAGES[request.param]
    page = open_page(path.format(**filled))
    expect(page.locator("#main")).to_contain_text(text)
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    yield page
    assert close(page) == []


def test_a_page_shows_what_there_is(page: Any) -> None:
    expect(page.locator("[role=alert]:not(#__next-route-announcer__)")).to_have_count(0)
    expect(page.locator("[data-connection=open]")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1024, 1920])
def test_a_page_is_accessible(page: Any, width: int, theme: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: run npm ci in dashboard/")
    page.set_viewport_size({"width": width, "height": 900})
    try:
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        if not page.evaluate("'axe' in window"):
            page.evaluate(f"() => {{ {AXE.read_text()} }}")
        # The themes differ in their colours and in nothing else.
        found = page.evaluate(SERIOUS, {"runOnly": COLOURS} if theme == "dark" else {})
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})
    assert found["passes"] > 0
    assert found["serious"] == []


def test_a_page_fits_a_phone(page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    try:
        expect(page.get_by_role("button", name="Open the menu")).to_be_visible()
        # Plots follow the width of the window a frame later.
        page.wait_for_function("document.documentElement.scrollWidth <= 360")
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})


def test_a_phone_has_the_menu_behind_a_button(look: Look, filled: dict[str, Any]) -> None:
    page = look("/", viewport={"width": 360, "height": 740})
    page.get_by_role("button", name="Open the menu").click()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Queues").click()
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()


def test_the_theme_follows_the_system_until_one_is_chosen_and_then_stays(look: Look) -> None:
    page = look("/queues/", color_scheme="light")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Use the dark theme").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")


def test_a_click_on_a_state_of_the_diagram_shows_its_jobs(look: Look, filled: dict[str, Any]) -> None:
    page = look("/")
    page.locator("[data-node=waiting]").click()
    expect(page).to_have_url("/jobs/?state=waiting")
    expect(page.locator("[data-row] [data-state=waiting]").first).to_be_visible()
    expect(page.locator("[data-row] [data-state]:not([data-state=waiting])")).to_have_count(0)


def test_filters_live_in_the_url(look: Look, site: Site) -> None:
    site.until(site.enqueue("fail", tags=["filters"]), "failed")
    page = look("/jobs/?state=failed&action=fail&tag=filters")
    expect(page.get_by_role("button", name="failed")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Action")).to_have_value("fail")
    expect(page.locator("[data-row]")).to_have_count(1)
    page.get_by_role("button", name="Clear").click()
    expect(page).to_have_url("/jobs/")
    expect(page.locator("[data-row]").first).to_be_visible()


def test_the_diagram_of_a_job_lights_its_step_and_the_way_it_came(look: Look, filled: dict[str, Any]) -> None:
    page = look(f"/job/?id={filled['job']}")
    expect(page.locator("[data-step=ship]")).to_have_attribute("data-lit", "true")
    expect(page.locator("[data-step=charge]")).to_have_attribute("data-visited", "true")
    expect(page.locator("[data-step=refuse]")).to_have_attribute("data-visited", "false")


def test_the_address_of_a_job_is_short(look: Look, filled: dict[str, Any]) -> None:
    page = look(f"/jobs/{filled['job']}")
    expect(page.get_by_role("heading", name="order")).to_be_visible()


def test_a_job_that_is_not_there_is_said_in_words(look: Look) -> None:
    page = look("/job/?id=9223372036854775807")
    expect(page.locator("#main").get_by_role("alert")).to_contain_text("9223372036854775807")


def test_no_step_of_twenty_hides_another(look: Look, filled: dict[str, Any]) -> None:
    page = look("/machine/?name=long")
    expect(page.locator("[data-step]")).to_have_count(20)
    boxes = page.evaluate(
        "[...document.querySelectorAll('[data-step] rect')].map(r => { const b = r.getBoundingClientRect();"
        " return [b.left, b.top, b.right, b.bottom]; })"
    )
    overlaps = [
        (a, b)
        for index, a in enumerate(boxes)
        for b in boxes[index + 1 :]
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]
    assert overlaps == []
    assert min(bottom - top for _, top, _, bottom in boxes) > 24


def test_large_counts_stay_in_their_tiles_on_a_phone(look: Look) -> None:
    page = look("/queues/", viewport={"width": 360, "height": 740})

    def crowded(route: Any) -> None:
        answer = route.fetch().json()
        states = dict.fromkeys(answer["stats"]["states"], 10_000)
        answer["stats"].update(states=states, atLeast=list(states))
        route.fulfill(json=answer)

    page.route("**/api/stats", crowded)
    page.goto("/")
    tiles = page.locator("a[data-node]")
    expect(tiles.first).to_contain_text("10,000+")
    assert (
        tiles.evaluate_all("tiles => tiles.filter(each => each.scrollWidth > each.clientWidth).length") == 0
    )


def test_a_schedule_shows_its_ticks_in_the_zone_that_its_text_names(
    look: Look, filled: dict[str, Any]
) -> None:
    page = look("/schedule/?name=every-morning", timezone_id="Asia/Tokyo")
    expect(page.get_by_role("columnheader", name="Europe/London")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Asia/Tokyo")).to_be_visible()
    expect(page.get_by_role("columnheader", name="UTC")).to_have_count(0)
    ticks = page.locator("section", has_text="Next ticks").last.locator("tbody tr")
    expect(ticks.first.locator("td").nth(1)).to_contain_text("09:00:00")


SHEETS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "views": ("/jobs/?state=failed", lambda page: page.get_by_role("button", name="Views").click()),
    "copy": ("/job/?id={job}", lambda page: page.get_by_role("button", name="Copy as").click()),
    "again": (
        "/job/?id={job}",
        lambda page: page.get_by_role("button", name="Run again with changes").click(),
    ),
    "bulk": ("/jobs/?state=failed", lambda page: page.get_by_role("button", name="Bulk actions").click()),
    "filters": ("/jobs/", lambda page: page.get_by_role("button", name="More filters").click()),
    "palette": ("/", lambda page: page.keyboard.press("Control+k")),
    "help": ("/", lambda page: page.keyboard.press("?")),
    "limits": ("/queues/", lambda page: page.get_by_role("button", name="Limits of default").click()),
    "schedule": (
        "/schedules/?new=",
        lambda page: page.get_by_label("When").fill("every weekday at 9am in London"),
    ),
    "key": ("/settings/", lambda page: page.get_by_role("button", name="New key").click()),
}


@pytest.mark.parametrize("width", [360, 1024])
@pytest.mark.parametrize("sheet", SHEETS)
def test_what_opens_above_a_page_is_accessible(
    look: Look, filled: dict[str, Any], sheet: str, width: int
) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: run npm ci in dashboard/")
    path, open_sheet = SHEETS[sheet]
    page = look(path.format(**filled), viewport={"width": width, "height": 740}, timezone_id="Asia/Tokyo")
    page.wait_for_function("() => document.documentElement.dataset.pages === 'ready'")
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    open_sheet(page)
    if sheet == "schedule":
        expect(page.get_by_test_id("sentence")).to_be_visible()
    elif sheet != "filters":
        expect(page.locator("[role=dialog], [role=menu]")).to_be_visible()
    page.evaluate(f"() => {{ {AXE.read_text()} }}")
    assert page.evaluate(SERIOUS, {})["serious"] == []


@pytest.mark.parametrize("width", [360, 640, 1024, 1280])
@pytest.mark.parametrize(
    "path", ["/jobs/", "/queues/", "/schedules/", "/machines/", "/workers/", "/settings/"]
)
def test_no_table_is_wider_than_its_page_and_no_heading_runs_into_the_next(
    look: Look, filled: dict[str, Any], path: str, width: int
) -> None:
    page = look(path, viewport={"width": width, "height": 740})
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    wide = "table => table.offsetWidth - table.closest('section, .panel').clientWidth"
    assert page.locator("table").first.evaluate(wide) <= 0
    cut = "heads => heads.filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"
    assert width < 640 or page.locator("thead th").evaluate_all(cut) == []


def test_the_button_that_sends_a_long_form_stays_in_sight(look: Look, filled: dict[str, Any]) -> None:
    page = look(f"/job/?id={filled['job']}", viewport={"width": 1024, "height": 600})
    page.get_by_role("button", name="Run again with changes").click()
    send = page.get_by_role("dialog").get_by_role("button", name="Run again", exact=True)
    expect(send).to_be_in_viewport(ratio=1)


def test_plots_without_data_say_so(look: Look, site: Site) -> None:
    site.enqueue("echo", queue="unused", when="in 3 hours")
    page = look("/queue/?name=unused")
    for label, said in (
        ("Jobs that ended, over time", "No job ended in this window."),
        ("Jobs that failed or expired, over time", "No job failed or expired in this window."),
        ("Waiting times, over time", "No job started in this window."),
        ("Run times, over time", "No run ended in this window."),
    ):
        expect(page.get_by_role("img", name=f"{label}. {said}")).to_be_visible()
        expect(page.locator("[data-empty]").filter(has_text=said)).to_be_visible()
    job = site.enqueue("fail_in_a_thread")
    site.until(job, "failed")
    page.goto("/machine/?name=fail_in_a_thread")
    expect(page.locator("[data-empty]")).to_have_text(
        "Every job that ended in this window failed or expired."
    )


def test_each_limit_of_a_queue_stays_on_one_line(look: Look, site: Site) -> None:
    site.enqueue("echo", queue="limited-by-everything", when="in 3 hours")
    limits = {"concurrency": 12, "keyConcurrency": 1, "rate": {"limit": 100, "seconds": 60}}
    site.call("PATCH", "/api/queues/limited-by-everything", limits)
    page = look("/queues/", viewport={"width": 1024, "height": 800})
    row = page.locator("[data-queue=limited-by-everything]")
    expect(row).to_contain_text("12 at a time, 100 in 1 min, 1 at a time per key")
    said = row.get_by_text("1 at a time per key", exact=True)
    assert said.evaluate("each => each.getClientRects().length") == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("table").evaluate("each => each.scrollWidth <= each.parentElement.clientWidth")
