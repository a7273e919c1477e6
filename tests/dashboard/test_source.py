"""What holds of the dashboard's source and of what is exported from it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from kairos.api.routes.ui import EXPORT
from kairos.fsm.lifecycle import JobState
from kairos.shapes.queue import LIMITS

SOURCE = Path(__file__).parents[2] / "dashboard"
WRITTEN = [
    file
    for folder in ("app", "features", "lib", "ui")
    for file in sorted((SOURCE / folder).rglob("*.ts*"))
    if ".gen." not in file.name
]


def test_no_state_is_named_by_hand() -> None:
    literal = re.compile(rf"""["'`]({"|".join(JobState)})["'`]""")
    found = [f"{file.name}: {each[0]}" for file in WRITTEN for each in literal.finditer(file.read_text())]
    assert found == []


@pytest.mark.parametrize("file", ["limits.tsx", "say-limits.ts"])
def test_every_limit_of_a_queue_is_shown_and_set(file: str) -> None:
    source = (SOURCE / "features" / "queues" / file).read_text()
    assert [each for each in LIMITS if f"queue.{to_camel(each)}" not in source] == []


def test_pages_and_features_are_short() -> None:
    limits = [(file, 60 if file.name == "page.tsx" and "app" in file.parts else 250) for file in WRITTEN]
    assert [file.name for file, most in limits if len(file.read_text().splitlines()) > most] == []


@pytest.mark.parametrize("page", sorted(EXPORT.rglob("index.html")), ids=lambda page: page.parent.name)
def test_the_script_of_a_page_is_small(page: Path) -> None:
    scripts = set(re.findall(r'<script src="(/_next/[^"]+\.js)"', page.read_text()))
    assert scripts
    size = sum(len(gzip.compress((EXPORT / each[1:]).read_bytes(), 6)) for each in scripts)
    assert size < 250_000


def test_every_package_is_pinned_by_its_hash() -> None:
    packages = json.loads((SOURCE / "package-lock.json").read_text())["packages"]
    assert [name for name, each in packages.items() if name and not each.get("integrity")] == []


def test_no_page_names_another_host() -> None:
    foreign = re.compile(r"""(?:src|href)="(?:https?:)?//""")
    assert [page.name for page in EXPORT.rglob("*.html") if foreign.search(page.read_text())] == []
