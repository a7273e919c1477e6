"""One `kairos dev` and one browser for a process, and pages that note whatever should not happen."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.dashboard.site import BROWSERS, Site, Wire, find_browser
from tests.data_directories import temporary_directory

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

TIMEOUT = 120_000  # milliseconds: generous, for a machine that does other things too

# What a page may not do unnoticed: break the security policy, throw, or talk to another host.
_WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (event) =>
  window.violations.push(event.violatedDirective + ' ' + event.blockedURI));
"""


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's program."""
    found = find_browser()
    if found is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)}")
    return found


@pytest.fixture(scope="session")
def site(chromium: str) -> Iterator[Site]:
    site = Site(temporary_directory("kairos-dashboard-"))
    yield site
    site.close()


@pytest.fixture(scope="session")
def browser_server(chromium: str) -> Iterator[str]:
    """The address of one browser for all modules of a process: each start of a browser takes seconds."""
    options = temporary_directory("kairos-browser-") / "options.json"
    options.write_text(json.dumps({"executablePath": chromium, "args": ["--no-sandbox"]}))
    command = ["playwright", "launch-server", "--browser", "chromium", "--config", str(options)]
    server = subprocess.Popen(
        [sys.executable, "-m", *command], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    os.killpg(server.pid, signal.SIGTERM)
    server.wait()
    server.stdout.close()
    shutil.rmtree(options.parent)


@pytest.fixture(scope="module")
def browser(browser_server: str) -> Iterator[Any]:
    """Left with its module: while it is used this process has a running event loop, and no async test can run."""
    with playwright.sync_playwright() as play:
        browser = play.chromium.connect(browser_server)
        yield browser
        browser.close()


@pytest.fixture
def wire(site: Site) -> Iterator[Wire]:
    wire = Wire(site)
    yield wire
    wire.close()


@pytest.fixture(scope="module")
def signed_in(browser: Any, site: Site) -> dict[str, Any]:
    """What a browser remembers of a sign-in."""
    context = browser.new_context(base_url=site.url)
    answer = context.request.post("/api/session", data={"key": site.key}, headers={"Origin": site.url})
    assert answer.ok, answer.text()
    state: dict[str, Any] = context.storage_state()
    context.close()
    return state


@pytest.fixture(scope="module")
def home(browser: Any, site: Site, signed_in: dict[str, Any]) -> Iterator[Any]:
    """A browser's own profile, signed in: what its pages have loaded, the next one need not."""
    context = _profile(browser, base_url=site.url, storage_state=signed_in)
    yield context
    context.close()


@pytest.fixture(scope="module")
def open_page(browser: Any, home: Any, site: Site) -> Iterator[Callable[..., Any]]:
    """Opens a page as somebody who is signed in; `close` tells what it did that it should not have."""
    with ExitStack() as profiles:

        def open_page(
            path: str = "/", *, base: str | None = None, signed: bool = True, **options: Any
        ) -> Any:
            profile = home
            if base or not signed or options:  # somebody else, or somewhere else
                kept = home.storage_state() if signed else None
                profile = _profile(browser, base_url=base or site.url, storage_state=kept, **options)
                profiles.callback(profile.close)
            page = profile.new_page()
            page.add_init_script(_WATCH)
            page.wrong = wrong = []
            page.on("pageerror", lambda error: wrong.append(f"threw {error}"))
            page.on("request", lambda request: _note_host(request.url, base or site.url, wrong))
            page.goto(path)
            return page

        yield open_page


@pytest.fixture
def look(open_page: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Opens a page for one test; at the end it must have done nothing it should not."""
    opened: list[Any] = []

    def look(*path: str, **options: Any) -> Any:
        opened.append(open_page(*path, **options))
        return opened[-1]

    yield look
    assert [fault for page in opened for fault in close(page)] == []


def close(page: Any) -> list[str]:
    """Closes a page; answers what it did that it should not have."""
    found = [*page.wrong, *(f"policy: {each}" for each in page.evaluate("window.violations ?? []"))]
    page.unroute_all(behavior="ignoreErrors")  # a request that a test answers itself may be under way
    page.close()
    return found


def _profile(browser: Any, **options: Any) -> Any:
    context = browser.new_context(
        reduced_motion="reduce", **{"viewport": {"width": 1280, "height": 900}, **options}
    )
    context.set_default_timeout(TIMEOUT)
    return context


def _note_host(url: str, base: str, wrong: list[str]) -> None:
    if not url.startswith((base, "data:", "blob:")):
        wrong.append(f"asked {url}")


@pytest.fixture(autouse=True)
def default_timeout() -> None:
    playwright.expect.set_options(timeout=TIMEOUT)
