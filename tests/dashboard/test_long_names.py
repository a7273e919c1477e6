"""Names as long as the service takes them: they break within their card, and no page grows wider than its window."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.dashboard.site import Site
from tests.dashboard.test_now import alarm

Look = Callable[..., Any]
NAME = "fulfilment_of_international_orders_" * 3
# No part of a card reaches beyond it, unless something between them scrolls or cuts.
BEYOND = """
() => [...document.querySelectorAll('#main .panel')].flatMap(card => [...card.querySelectorAll('*')].filter(each => {
  for (let box = each.parentElement; box !== card; box = box.parentElement)
    if (getComputedStyle(box).overflowX !== 'visible') return false;
  const { width, right } = each.getBoundingClientRect();
  return width > 0 && right > card.getBoundingClientRect().right + 1;
}).map(each => each.textContent.slice(0, 80)))
"""


def changed(page: Any, pattern: str, change: Callable[[Any], None]) -> None:
    """Let the service answer, and change what it said."""

    def answer(route: Any) -> None:
        document = route.fetch().json()
        change(document)
        route.fulfill(body=json.dumps(document), content_type="application/json")

    page.route(pattern, answer)


def fits(page: Any) -> None:
    assert page.evaluate(BEYOND) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("width", [360, 1280])
def test_a_worker_that_runs_actions_with_long_names(look: Look, site: Site, width: int) -> None:
    worker = site.call("GET", "/api/workers")["workers"][0]["id"]
    page = look("/queues/", viewport={"width": width, "height": 900})
    changed(page, f"**/api/workers/{worker}", lambda answer: answer["worker"]["actions"].append(NAME))
    page.goto(f"/worker/?id={worker}")
    expect(page.get_by_role("link", name=NAME)).to_be_visible()
    fits(page)


@pytest.mark.parametrize("width", [360, 1280])
def test_an_alarm_whose_remedy_names_a_long_queue(look: Look, width: int) -> None:
    page = look("/queues/", viewport={"width": width, "height": 900})
    remedy = f"Start a worker for it (`kairos worker APP --queues {NAME}`), or pause the queue."
    changed(page, "**/api/alarms*", lambda answer: answer.update(alarms=[alarm(1, "error", remedy=remedy)]))
    page.goto("/alarms/")
    expect(page.get_by_text(f"--queues {NAME}")).to_be_visible()
    fits(page)


@pytest.mark.parametrize("width", [360, 1280])
def test_a_job_of_a_machine_with_a_long_name(look: Look, site: Site, width: int) -> None:
    job = site.enqueue("checkout", {"email": "long@example.com"})
    site.until(job, "success")
    page = look("/queues/", viewport={"width": width, "height": 900})
    changed(page, f"**/api/jobs/{job}", lambda answer: answer["job"].update(action=NAME))
    page.route(
        f"**/{NAME}*/**", lambda route: route.continue_(url=route.request.url.replace(NAME, "checkout"))
    )
    page.goto(f"/job/?id={job}")
    expect(page.get_by_role("link", name=NAME)).to_be_visible()
    fits(page)
