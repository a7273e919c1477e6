"""Measures the dashboard in a real browser, each time against a `kairos dev` of its own.

    python -m tests.dashboard.measure cold      from a navigation with nothing cached to a main view one can use
    python -m tests.dashboard.measure pages     a list of 1,000,000 jobs: page 1 against page 200, heap and nodes
    python -m tests.dashboard.measure debug     from an address to a failure among 1,000,000 jobs and a new try
    python -m tests.dashboard.measure memory    the heap of two tabs over ten minutes of 50 events a second

It prints numbers and judges nothing. The load of the machine stands beside them: on a busy one they mean little.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import psycopg
from bench.database import DEFAULTS, JOBS
from playwright.sync_api import Browser, Page, sync_playwright
from tests.dashboard import shop_past, walks
from tests.dashboard.site import Site, find_browser
from tests.data_directories import temporary_directory

# The main view can be used: alarms are known, counts stand on the diagram, and nothing on it is still loading.
_USABLE = """
const note = () => {
  const shown = document.querySelector('[data-testid=quiet], [data-alarm]')
    && /\\d/.test(document.querySelector('[data-node=running] text:last-of-type')?.textContent ?? '')
    && !document.querySelector('#main [aria-label=Loading]');
  if (shown) window.usableAt = performance.now();
  else requestAnimationFrame(note);
};
requestAnimationFrame(note);
"""
_WATERFALL = """
() => performance.getEntriesByType('resource')
  .map(each => [each.startTime, each.responseEnd, each.transferSize, each.name.replace(location.origin, '')])
"""
# Counts what arrives, before the page sees it.
_COUNTED = """
window.received = { messages: 0, changes: 0, lines: 0 };
window.EventSource = class extends EventSource {
  constructor(url) {
    super(url);
    for (const name of ['pulse', 'log', 'status', 'alarm']) this.addEventListener(name, (event) => {
      window.received.messages += 1;
      if (name === 'log') window.received.lines += 1;
      if (name === 'pulse') for (const edge of JSON.parse(event.data).edges) window.received.changes += edge.count;
    });
  }
};
"""
_FIRST_ROW = "document.querySelector('[data-row] a[href]')?.textContent"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.dashboard.measure")
    parser.add_argument("what", choices=["cold", "pages", "debug", "memory"])
    parser.add_argument("--rounds", type=int, default=10, help="cold: how many navigations")
    parser.add_argument("--jobs", type=int, default=1_000_000, help="pages and debug: how many jobs")
    parser.add_argument("--minutes", type=float, default=10, help="memory: for how long")
    given = parser.parse_args()
    with _opened() as (site, browser):
        if given.what == "cold":
            cold(site, browser, given.rounds)
        elif given.what == "pages":
            pages(site, browser, given.jobs)
        elif given.what == "debug":
            debug(site, browser, given.jobs)
        else:
            memory(site, browser, given.minutes)
    return 0


def cold(site: Site, browser: Browser, rounds: int) -> None:
    for number in range(5):
        site.until(site.enqueue("greet", {"name": f"number {number}"}), "success")
    found, painted, waterfall = [], [], []
    for _ in range(rounds):
        page = _page(site, browser)  # a context of its own: nothing is cached
        page.add_init_script(_USABLE)
        page.goto("/", wait_until="commit")
        page.wait_for_function("() => window.usableAt")
        found.append(page.evaluate("window.usableAt"))
        painted.append(
            page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
        )
        waterfall = page.evaluate(_WATERFALL)
        page.context.close()
    for start, end, size, name in sorted(waterfall):
        _say(f"  {start:6.0f} to {end:6.0f} ms  {size:7,} bytes  {name}")
    _say(f"first paint   median {median(painted):.0f} ms")
    _say(f"usable        median {median(found):.0f} ms of {rounds}, {min(found):.0f} to {max(found):.0f} ms")


def pages(site: Site, browser: Browser, jobs: int) -> None:
    began = time.monotonic()
    with psycopg.connect(site.database, autocommit=True) as connection:
        # The guard refuses rows that begin as finished: for this, and only here, it looks away.
        connection.execute("set session_replication_role = replica")
        connection.execute(JOBS, {**DEFAULTS, "fsm": "echo", "done": True, "count": jobs})
        connection.execute("vacuum analyze kairos.gen_durable")
    _say(f"{jobs:,} jobs stored in {time.monotonic() - began:.0f} s")
    page = _page(site, browser)
    page.goto("/jobs/")
    page.locator("[data-row]").first.wait_for()
    took = {1: _until_shown(page, None, page.reload)}
    heaps = {1: _heap(page)}
    older = page.get_by_role("button", name="Older")
    for number in range(2, 201):
        took[number] = _until_shown(page, page.evaluate(_FIRST_ROW), older.click)
        if number % 50 == 0:
            heaps[number] = _heap(page)
    early = median(took[number] for number in range(2, 12))
    late = median(took[number] for number in range(191, 201))
    _say(f"page 1, loaded anew   {took[1]:.0f} ms")
    _say(f"page 2 to 11          median {early:.0f} ms from the click to the rows")
    _say(f"page 191 to 200       median {late:.0f} ms")
    for number, (heap, nodes) in heaps.items():
        _say(f"page {number:<4}  heap {heap:.1f} MB, {nodes:,} nodes")


def debug(site: Site, browser: Browser, jobs: int) -> None:
    failed = shop_past.last_night(site)
    shop_past.fill(site.database, jobs)
    took: list[tuple[float, str]] = []
    for walk in (walks.by_keyboard, walks.by_mouse):
        page = _page(site, browser)
        took.clear()
        page.on("requestfinished", lambda request: took.append((request.timing["responseEnd"], request.url)))
        page.goto("/")
        page.get_by_text("Running now").wait_for()
        began = time.monotonic()
        new = walk(page, failed)
        _say(f"{walk.__name__:<12}  {time.monotonic() - began:.1f} s, {len(took)} requests")
        for ms, url in sorted(took)[-3:]:
            _say(f"  {ms:6.0f} ms  {url.removeprefix(site.url)}")
        site.call("DELETE", f"/api/jobs/{new}")  # the next walk finds as many as this one
        page.context.close()


def memory(site: Site, browser: Browser, minutes: float) -> None:
    writer = site.enqueue("write", {"lines": 10_000_000, "pause": 0.02})
    tabs = {"main view": _page(site, browser, _COUNTED), "log": _page(site, browser, _COUNTED)}
    tabs["main view"].goto("/")
    tabs["log"].goto(f"/job/?id={writer}")
    for page in tabs.values():
        page.locator("[data-connection=open]").wait_for()
    over = threading.Event()
    load = threading.Thread(target=_enqueue_on, args=(site, over), daemon=True)
    load.start()
    began = time.monotonic()
    try:
        while (passed := time.monotonic() - began) < minutes * 60:
            _tell(passed, tabs)
            tabs["main view"].wait_for_timeout(min(60_000, minutes * 6_000))
        _tell(passed, tabs)
    finally:
        over.set()
        load.join()
        site.call("POST", f"/api/jobs/{writer}/cancel", {})


def _tell(passed: float, tabs: dict[str, Page]) -> None:
    for name, page in tabs.items():
        heap, nodes = _heap(page)
        got = page.evaluate("window.received")
        each = "".join(f", {count:,} {what}" for what, count in got.items() if count)
        rate = (got["changes"] + got["lines"]) / passed if passed > 1 else 0
        _say(f"{passed:5.0f} s  {name:<9}  heap {heap:5.1f} MB, {nodes:,} nodes{each} ({rate:.0f} a second)")


def _enqueue_on(site: Site, over: threading.Event) -> None:
    """Fifty jobs a second, each of which is one change that is told: its end."""
    begun, sent = time.monotonic(), 0
    while not over.wait(max(0.0, begun + sent / 50 - time.monotonic())):
        jobs = [{"action": "echo", "input": {"value": sent + number}} for number in range(25)]
        site.call("POST", "/api/jobs/batch", {"jobs": jobs})
        sent += 25


@contextmanager
def _opened() -> Iterator[tuple[Site, Browser]]:
    program = find_browser()
    if program is None:
        raise SystemExit("No browser is installed.")
    site = Site(temporary_directory("kairos-measure-"))
    try:
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
            _say(
                "load of the machine {:.1f} {:.1f} {:.1f}, {} cores".format(*os.getloadavg(), os.cpu_count())
            )
            yield site, browser
            browser.close()
    finally:
        site.close()


def _page(site: Site, browser: Browser, *scripts: str) -> Page:
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    assert context.request.post("/api/session", data={"key": site.key}, headers={"Origin": site.url}).ok
    page = context.new_page()
    for script in scripts:
        page.add_init_script(script)
    return page


def _until_shown(page: Page, before: str | None, act: Callable[[], Any]) -> float:
    """Milliseconds from an act until the first row is another one."""
    began = time.monotonic()
    act()
    page.wait_for_function(f"was => ({_FIRST_ROW} ?? was) !== was", arg=before)
    return 1000 * (time.monotonic() - began)


def _heap(page: Page) -> tuple[float, int]:
    """Megabytes of JavaScript's heap and how many nodes there are, once what is garbage is gone."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("HeapProfiler.collectGarbage")
    devtools.send("Performance.enable")
    metrics = {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}
    devtools.detach()
    return metrics["JSHeapUsedSize"] / 1e6, int(metrics["Nodes"])


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
