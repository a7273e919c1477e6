"""The dashboard under a prefix: every path it uses begins with what the page says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect
from tests.dashboard.site import Site

Look = Callable[..., Any]
PREFIX = "/kairos"


def test_the_dashboard_works_mounted_under_a_prefix(look: Look, site: Site) -> None:
    site.enqueue("greet", {"name": "prefixed"}, tags=["prefixed"])
    page = look("/queues/", viewport={"width": 1280, "height": 902})
    outside: list[str] = []

    def mounted(route: Any) -> None:
        path = route.request.url.removeprefix(site.url)
        if not path.startswith(f"{PREFIX}/"):
            outside.append(path)
            return route.abort()
        if path.partition("?")[0].endswith("/events"):  # a stream has no end to wait for
            return route.continue_(url=site.url + path.removeprefix(PREFIX))
        answer = route.fetch(url=site.url + path.removeprefix(PREFIX))
        body = answer.body()
        kind = answer.headers.get("content-type", "")
        if kind.startswith(("text/html", "text/javascript")):
            body = body.replace(b"/_next/", f"{PREFIX}/_next/".encode())
        if kind.startswith("text/html"):  # as the service does when it is mounted
            meta = f'<meta name="kairos-base" content="{PREFIX}">'
            body = body.replace(b"<head>", f"<head>{meta}".encode(), 1)
        headers = {name: value for name, value in answer.headers.items() if name != "content-security-policy"}
        return route.fulfill(status=answer.status, headers=headers, body=body)

    page.goto("about:blank")  # what the page before still asks for is not ours
    page.route("**/*", mounted)
    page.goto(f"{PREFIX}/jobs/?tag=prefixed")
    row = page.locator("[data-row]").first
    expect(row).to_be_visible()
    expect(row.get_by_role("link")).to_have_attribute("href", re.compile(rf"^{PREFIX}/job/"))
    row.get_by_role("link").click()
    expect(page).to_have_url(re.compile(rf"{PREFIX}/job/\?id=\d+$"))
    expect(page.get_by_test_id("job-id")).to_be_visible()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Workers").click()
    expect(page).to_have_url(re.compile(rf"{PREFIX}/workers/$"))
    expect(page.locator("[data-worker]").first).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("job-id")).to_be_visible()
    assert outside == []
    # A page that closes takes the answers that are still being changed with it.
    page.unroute_all(behavior="wait")
