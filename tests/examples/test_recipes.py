"""The recipes tell the truth: each is run as a reader would run it, and prints what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

from kairos import Kairos
from kairos.testing import Clock, drain

RECIPES = ROOT / "examples" / "recipes"
STORIES = {
    "order_saga": [
        "good -> {'order': 1, 'shipped_to': 'Oslo'}",
        "bad -> failed order 2 was undone: ship failed, NoSuchAddress('Atlantis')",
        "undone -> ['charge', 'reserve']",
    ],
    "approval": [
        "small -> {'paid': 20, 'asked': 'team lead'}",
        "large -> {'paid': 900, 'asked': 'team lead'}",
        "slow -> the manager was asked",
    ],
    "crawl": ["crawl -> {'failed': ['FileNotFoundError: /missing'], 'fetched': 4}"],
    "nightly_report": ["schedule -> every day at 03:00 (Europe/London)", "backfill -> 3 nights"],
    "rate_limited_client": [
        "synced -> customer 1, attempt 0",
        "synced -> customer 2, attempt 0",
        "synced -> customer 3, attempt 1",
        "synced -> customer 4, attempt 0",
    ],
    "ledger": [
        "transfer -> {'moved': 30}",
        "attempts -> ['fail', 'retry', 'done']",
        "balances -> {'ada': 70, 'bob': 30}",
    ],
    "webhook_receiver": ["statuses -> 202 202 401", "one job -> True False", "event -> payment of 900"],
    "etl": ["run -> {'rows': 1000}"],
    "tool_agent": ["agent -> {'turns': 2, 'answer': 'Order 42 was refunded.'}"],
    "crontab_moved": [
        "backup -> every weekday at 02:30 (Europe/Oslo) -> backup-1",
        "invoices -> on the 1st of each month at 09:00 (Europe/Oslo) -> invoices written",
        "sync_stock -> every 15 minutes (Europe/Oslo) -> stock synchronised",
    ],
}


@pytest.mark.parametrize("name", STORIES)
def test_a_recipe_runs_its_story(name: str, database: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, RECIPES / f"{name}.py"],
        cwd=tmp_path,
        env={**os.environ, "KAIROS_DATABASE_URL": database},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert [line for line in ended.stdout.splitlines() if " -> " in line] == STORIES[name]


def test_every_recipe_has_a_story() -> None:
    assert sorted(STORIES) == sorted(path.stem for path in RECIPES.glob("*.py"))


async def test_the_nightly_report_catches_up_with_every_night_of_a_downtime(
    kairos_bind: Callable[[Kairos], Kairos],
) -> None:
    from examples.recipes.nightly_report import app

    async with kairos_bind(app):
        clock = await Clock(app).install()
        await clock.freeze(datetime(2026, 6, 1, 12, tzinfo=UTC))
        await app.synchronise()
        await clock.move(timedelta(days=3))  # nobody was there for three nights
        await drain(app, limit=3)
        jobs = await app.jobs(action="nightly_report")
        assert [job.run_at.day for job in sorted(jobs, key=lambda job: job.id) if job.run_at] == [2, 3, 4]
