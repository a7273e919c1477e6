"""Two walks of somebody who has never seen the dashboard: from an address to a failure, its cause and a new try."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect
from tests.dashboard.shop_past import CUSTOMER

_FOCUSED = """
() => {
  const one = document.activeElement;
  return (one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent).trim();
}
"""
_MOST_TABS = 40


def by_keyboard(page: Any, failed: int) -> int:
    """Find the job, look at it and run it again without a mouse; answer the new job."""
    page.keyboard.press("/")
    page.keyboard.type(CUSTOMER)
    page.keyboard.press("Enter")
    expect(page.locator("[data-row]")).to_have_count(3)
    current = page.locator("[data-row][data-current=true]")
    for _ in range(3):
        page.keyboard.press("j")
        if current.locator("[data-state=failed]").count():
            break
    page.keyboard.press("Enter")
    _understand(page, failed)
    _tab_to(page, r"^\d+ jobs? with this error$")
    page.keyboard.press("Enter")
    _others(page)
    _tab_to(page, r"^Run again with changes$")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    _tab_to(page, r"^card")
    page.keyboard.press("Control+a")
    page.keyboard.type("valid")
    page.keyboard.press("Enter")
    return _succeeded(page, failed)


def by_mouse(page: Any, failed: int) -> int:
    """The same by pointing; keys are only used to write words."""
    page.get_by_role("searchbox", name="Search jobs").click()
    page.keyboard.type(CUSTOMER)
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("[data-row]")).to_have_count(3)
    page.get_by_role("group", name="States").get_by_role("button", name="failed").click()
    expect(page.locator("[data-row]")).to_have_count(1)
    page.locator("[data-row]").click(position={"x": 400, "y": 20})
    _understand(page, failed)
    page.get_by_role("link", name=re.compile(r"\d+ jobs? with this error")).click()
    _others(page)
    page.get_by_role("button", name="Run again with changes").click()
    page.get_by_role("dialog").get_by_label("card").dblclick()
    page.keyboard.type("valid")
    page.get_by_role("dialog").get_by_role("button", name="Run again", exact=True).click()
    return _succeeded(page, failed)


def _understand(page: Any, failed: int) -> None:
    """What the page of the job says: which step took the time, what the machine knew, why it failed."""
    expect(page.get_by_test_id("job-id")).to_have_text(str(failed))
    expect(page.locator("[data-lane='charge 1']")).to_contain_text(
        re.compile(r"ran (3\d\d|[4-9]\d\d) ms|ran \d")
    )
    expect(page.locator("[data-lane='reserve 1']")).to_be_visible()
    expect(page.get_by_label("State", exact=True)).to_contain_text('"reservation": "r-25"')
    expect(page.get_by_label("Error", exact=True)).to_contain_text("has expired")


def _others(page: Any) -> None:
    """The jobs that failed with the same error, and back."""
    expect(page.locator("[data-row]").nth(4)).to_be_visible()
    page.go_back()
    expect(page.get_by_test_id("waterfall")).to_be_visible()


def _succeeded(page: Any, failed: int) -> int:
    expect(page.locator("h1 [data-state=success]")).to_be_visible()
    new = int(page.get_by_test_id("job-id").inner_text())
    assert new != failed
    return new


def _tab_to(page: Any, name: str) -> None:
    """Press Tab until what has the focus bears this name."""
    passed: list[str] = []
    for _ in range(_MOST_TABS):
        page.keyboard.press("Tab")
        passed.append(page.evaluate(_FOCUSED))
        if re.search(name, passed[-1]):
            return
    raise AssertionError(f"Tab does not lead to {name}, only to {passed}")
