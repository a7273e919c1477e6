"""The documentation site: it is built strictly, asks no other host for anything, and can be searched."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docsite.links import REPOSITORY, for_site, target
from docsite.navigation import navigation
from docsite.reference import generated_pages, metric_families
from tests.docs.pages import ROOT, text

pytest.importorskip("mkdocs", reason="the extra [docs] is not installed")


@pytest.mark.timeout(600)
def test_the_site_is_built_without_a_broken_link_and_asks_no_other_host(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    loaded = {
        address
        for page in tmp_path.rglob("*.html")
        for address in re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', page.read_text()
        )
    }
    assert loaded == set()
    index = json.loads((tmp_path / "search" / "search_index.json").read_text())
    found = {
        entry["location"].partition("#")[0]
        for entry in index["docs"]
        if "Backoff" in entry["title"] + entry["text"]
    }
    assert {"learn/retries.html", "reference/full-python.html"} <= found


def test_a_link_leads_to_its_page_or_to_the_repository_and_a_broken_one_is_left_for_the_build_to_refuse() -> (
    None
):
    page = ("docs/learn/retries.md", "learn/retries.md")
    assert target("../reference/http.md#jobs", *page) == "../reference/http.md#jobs"
    assert target("../../ARCHITECTURE.md", *page) == "../project/architecture.md"
    assert target("../../src/kairos", *page) == f"{REPOSITORY}/tree/main/src/kairos"
    assert target("../../examples/hello.py", *page) == f"{REPOSITORY}/blob/main/examples/hello.py"
    assert target("../reference/nothing.md", *page) == "../reference/nothing.md"
    assert target("docs/learn/retries.md", "README.md", "project/readme.md") == "../learn/retries.md"


def test_a_page_shows_an_example_in_place_of_the_link_to_it_and_code_stays_as_it_is() -> None:
    link = "[`examples/hello.py`](../../examples/hello.py)"
    shown = for_site(f"{link}\n\n```md\n{link}\n```\n", "docs/a/b.md", "a/b.md")
    assert shown.startswith('```python title="examples/hello.py"\n"""Three small jobs')
    assert shown.endswith(f"```md\n{link}\n```\n")


def test_every_page_has_a_place_in_the_navigation() -> None:
    pages = [str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")]
    placed = [
        page
        for part in navigation(pages)
        for page in ([part] if isinstance(part, str) else next(iter(part.values())))
    ]
    assert sorted(placed) == sorted(pages)


def test_the_generated_reference_has_every_command_error_setting_metric_and_operation() -> None:
    pages = generated_pages()
    assert "## `kairos schedules backfill`" in pages["reference/full-cli.md"]
    assert "`InvalidTransition` | `INVALID_TRANSITION` | 409 | 65 |" in pages["reference/full-errors.md"]
    assert "| `pool_size` | `KAIROS_POOL_SIZE` | `10` |" in pages["reference/full-settings.md"]
    assert "## `POST /api/jobs`" in pages["reference/full-http.md"]
    for name, *_ in metric_families():
        assert f"| `{name}` |" in pages["reference/full-metrics.md"]


def test_the_page_on_watching_lists_every_metric() -> None:
    page = text("docs/operate/watching.md")
    assert [name for name, kind, *_ in metric_families() if kind != "info" and name not in page] == []
