"""The small readers and writers of the command line."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kairos.cli import tables
from kairos.cli.dev import _without_password
from kairos.cli.reading import queues, rate
from kairos.cli.watch import Watch


def test_queues_are_names_some_with_a_limit() -> None:
    assert queues("mail, reports=5") == {"mail": None, "reports": 5}


@pytest.mark.parametrize(
    ("text", "expected"), [("100/1m", (100, "1m")), ("5/h", (5, "1h")), ("1/90", (1, 90.0))]
)
def test_a_rate_is_how_many_in_how_long(text: str, expected: tuple[int, object]) -> None:
    assert rate(text, "--rate") == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0s"), (0.0123, "12.3ms"), (1, "1s"), (61.9, "1m1s"), (3600, "1h"), (90061, "1d1h")],
)
def test_a_length_of_time_is_told_in_its_two_largest_units(seconds: float, expected: str) -> None:
    assert tables.span(timedelta(seconds=seconds)) == expected


def test_an_instant_is_told_by_its_distance() -> None:
    now = datetime.now(UTC)
    assert tables.ago(now) == "now"
    assert tables.ago(now - timedelta(hours=2, seconds=5)) == "2h5s ago"
    assert tables.ago(now + timedelta(days=3, minutes=1)).startswith("in 3d")
    assert tables.ago(None) == ""


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://me:p%40ss@host:5/db", "postgresql://me:***@host:5/db"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://me:me@a:1,b:2/db", "postgresql://me:***@a:1,b:2/db"),
        (
            "postgresql://kairos@/kairos?host=/tmp/x&port=5432",
            "postgresql://kairos@/kairos?host=/tmp/x&port=5432",
        ),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, expected: str) -> None:
    assert _without_password(url) == expected


def test_a_watch_sees_a_file_changed_made_or_removed_and_nothing_else(home: Path) -> None:
    file, absent = home / "watched.py", home / "absent.py"
    file.write_text("1")
    watched = file.stat().st_mtime
    watch = Watch(watched, [file, absent])
    assert watch.look() is None
    os.utime(file, (1, 1))
    assert watch.look() == file
    unmade = Watch(watched, [absent])
    assert unmade.look() is None
    absent.touch()
    assert unmade.look() == absent
    removed = Watch(watched, [file])
    assert removed.look() is None
    file.unlink()
    assert removed.look() == file


def test_a_file_changed_while_the_app_was_loaded_counts_as_changed(home: Path) -> None:
    file = home / "watched.py"
    file.write_text("1")
    later = time.time() + 3_600
    os.utime(file, (later, later))
    assert Watch(later, [file]).look() is None
    assert Watch(later - 0.001, [file]).look() == file
