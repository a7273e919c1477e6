"""The small readers and writers of the command line."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kairos.cli import output
from kairos.cli.file_watcher import FileWatcher
from kairos.cli.parse import queues, rate
from kairos.config import shown_url


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
    assert output.span(timedelta(seconds=seconds)) == expected


def test_an_instant_is_told_by_its_distance() -> None:
    now = datetime.now(UTC)
    assert output.ago(now) == "now"
    assert output.ago(now - timedelta(hours=2, seconds=5)) == "2h5s ago"
    assert output.ago(now + timedelta(days=3, minutes=1)).startswith("in 3d")
    assert output.ago(None) == ""


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
    assert shown_url(url) == expected


def test_a_watch_sees_a_file_changed_made_or_removed_and_nothing_else(home: Path) -> None:
    file, absent = home / "watched.py", home / "absent.py"
    file.write_text("1")
    watched = file.stat().st_mtime
    watch = FileWatcher(watched, [file, absent])
    assert watch.poll() is None
    os.utime(file, (1, 1))
    assert watch.poll() == file
    unmade = FileWatcher(watched, [absent])
    assert unmade.poll() is None
    absent.touch()
    assert unmade.poll() == absent
    removed = FileWatcher(watched, [file])
    assert removed.poll() is None
    file.unlink()
    assert removed.poll() == file


def test_a_file_changed_while_the_app_was_loaded_counts_as_changed(home: Path) -> None:
    file = home / "watched.py"
    file.write_text("1")
    later = time.time() + 3_600
    os.utime(file, (later, later))
    assert FileWatcher(later, [file]).poll() is None
    assert FileWatcher(later - 0.001, [file]).poll() == file
