"""A stranger finds the job that failed last night, sees why, and runs it again with one argument changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.dashboard import shop_past, walks
from tests.dashboard.site import Site

Look = Callable[..., Any]


@pytest.fixture(scope="module")
def failed(site: Site) -> int:
    failed = shop_past.last_night(site)
    shop_past.fill(site.database, 300)
    return failed


@pytest.mark.parametrize("walk", [walks.by_keyboard, walks.by_mouse])
def test_a_stranger_gets_from_an_address_to_a_new_try(look: Look, site: Site, failed: int, walk: Any) -> None:
    page = look("/")
    expect(page.get_by_text("Running now")).to_be_visible()
    new = walk(page, failed)
    job = site.job(new)
    assert (job["input"]["email"], job["input"]["card"]) == (shop_past.CUSTOMER, "valid")
    site.call("DELETE", f"/api/jobs/{new}")  # the next walk finds as many as this one
