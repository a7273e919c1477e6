"""The documents say what is true: their programs run, their links lead somewhere.

A block of Python after `<!-- run -->` is run, with the blocks before it on its page, against a fresh database. In
such a block `value  # → expected` is a claim that is checked, and a `test_…` function is run as a test.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from tests.docs.pages import PAGES, ROOT, headings, links, name, text

RUNNABLE = re.compile(r"^<!-- run -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CLAIM = re.compile(r"^(?P<indent> *)(?P<value>\S.*?) +# → (?P<expected>.+)$", re.MULTILINE)


def blocks(page: Path) -> Iterator[CodeType]:
    """The runnable blocks of a page, on the lines where they stand."""
    whole = page.read_text()
    for block in RUNNABLE.finditer(whole):
        before = whole[: block.start(1)].count("\n")
        source = CLAIM.sub(r"\g<indent>assert (\g<value>) == (\g<expected>), \g<value>", block[1])
        yield compile("\n" * before + source, name(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("page", [page for page in PAGES if RUNNABLE.search(page.read_text())], ids=name)
async def test_the_programs_of_a_page_run_as_printed(
    page: Path, database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAIROS_DATABASE_URL", database)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        if (coroutine := eval(block, names)) is not None:
            await coroutine
    for test in [value for key, value in names.items() if key.startswith("test_")]:
        await test(database)


def test_no_program_is_left_out_by_a_slip_of_the_mark() -> None:
    marks = {name(page): page.read_text().count("<!-- run") for page in PAGES}
    assert marks == {name(page): len(RUNNABLE.findall(page.read_text())) for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_leads_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    for link in links(page):
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not heading or heading in headings(target), link


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    found = [ROOT / "README.md"]
    while found:
        page = found.pop()
        if page.suffix == ".md" and page not in seen:
            seen.add(page)
            found += [(page.parent / link.partition("#")[0]).resolve() for link in links(page)]
    assert set(PAGES) - seen == set()


def test_the_architecture_is_read_in_five_minutes() -> None:
    assert len(text("ARCHITECTURE.md").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_files_and_statements_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"(?<![\w./])((?:[\w.]+/)*[a-z_]\w+\.(?:py|sql))\b", page.read_text())
    there = [
        str(path) for folder in ("src", "tests", "bench", "examples") for path in (ROOT / folder).rglob("*.*")
    ]
    users = {"app.py", "path/to/file.py"}  # the reader's own
    assert [
        file for file in named if file not in users and not any(each.endswith(f"/{file}") for each in there)
    ] == []
