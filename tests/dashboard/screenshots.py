"""Takes the README's pictures from a real run: `python -m tests.dashboard.screenshots` writes to `docs/images/`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from tests.dashboard.site import Site, find_browser
from tests.data_directories import temporary_directory

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
WIDE = {"width": 1280, "height": 832}
PHONE = {"width": 390, "height": 780}


def main() -> int:
    browser_path = find_browser()
    if browser_path is None:
        sys.stderr.write("No browser is installed.\n")
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    site = Site(temporary_directory("kairos-pictures-"), app=ROOT / "examples")
    try:
        order = fill(site)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
            for scheme in ("light", "dark"):
                page = open_page(browser, site, scheme, WIDE)
                take(page, "/", f"now-{scheme}", "Running now")
            page = open_page(browser, site, "light", WIDE)
            take(page, f"/job/?id={order}", "job", "Timeline")
            take(page, "/jobs/", "jobs", "Newest first")
            take(page, "/lifecycle/", "lifecycle", "Every change that can happen to a job")
            take(page, "/machine/?name=fetch", "machine", "Last jobs")
            page.goto("/schedules/?new=yes")
            page.get_by_label("When").fill("every weekday at 9am in London")
            page.get_by_test_id("sentence").wait_for()
            page.screenshot(path=IMAGES / "schedule.png")
            take(open_page(browser, site, "dark", PHONE), "/", "phone", "Running now")
            browser.close()
    finally:
        site.close()
    return 0


def fill(site: Site) -> int:
    """A few minutes of a small shop; answers an order that waits for its parcel."""
    for number in range(12):
        site.enqueue("order", {"order_id": number}, key=f"order:{number}", tags=[f"customer:{number % 4}"])
    order = site.enqueue("order", {"order_id": 42}, key="order:42", unique="order:42", tags=["customer:7"])
    for when, name, action, sent in (
        ("every weekday at 9am in London", "morning-report", "report", {}),
        ("every 15 minutes between 9 and 17 on weekdays", "fetch-prices", "fetch", {}),
        ("last business day of each month at 5pm", "month-end", "report", {"pages": 200}),
    ):
        site.call("POST", "/api/schedules", {"name": name, "when": when, "action": action, "input": sent})
    for minute in range(4):
        for number in range(20 + 15 * minute):
            site.enqueue("greet", {"name": f"customer {number}"}, tags=[f"customer:{number % 4}"])
            site.enqueue("fetch", {"failures": number % 3})
        if minute < 3:
            time.sleep(61)  # the plots show a bar for each minute
    for number in range(6):
        site.enqueue("greet", {"name": f"customer {number}"}, when="in 2 hours")
    for pages in (900, 1200, 1500):
        site.enqueue("report", {"pages": pages})
    return order


def open_page(browser: Any, site: Site, scheme: str, viewport: dict[str, int]) -> Page:
    context = browser.new_context(
        base_url=site.url, color_scheme=scheme, viewport=viewport, device_scale_factor=1.5, timezone_id="UTC"
    )
    assert context.request.post("/api/session", data={"key": site.key}, headers={"Origin": site.url}).ok
    page: Page = context.new_page()
    return page


def take(page: Page, path: str, name: str, text: str) -> None:
    page.goto(path)
    page.locator("#main").get_by_text(text).first.wait_for()
    page.wait_for_function("() => document.querySelector('#main [aria-label=Loading]') === null")
    page.wait_for_timeout(4000)  # counts and plots come with the next answers
    page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
