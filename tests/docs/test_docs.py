"""The documents say what is true: their programs run, their links lead somewhere.

The blocks of Python after `<!-- run -->` are one program for each page, which is run as a file by Python, on a fresh
database. In it `value  # → expected` is a claim that is checked. Blocks after `<!-- pytest -->` are one file of tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT, headings, links, name, text

RUNNABLE = re.compile(r"^<!-- run -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TESTS = re.compile(r"^<!-- pytest -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CLAIM = re.compile(r"^(?P<indent> *)(?P<value>\S.*?) +# → (?P<expected>.+)$", re.MULTILINE)


def program(page: Path, blocks: re.Pattern[str] = RUNNABLE) -> str:
    """The blocks of a page as one file, on the lines where they stand on the page."""
    whole, source = page.read_text(), ""
    for block in blocks.finditer(whole):
        source += "\n" * (whole[: block.start(1)].count("\n") - source.count("\n")) + block[1]
    return source


def checked(source: str) -> str:
    """The same program with its claims as assertions."""
    return CLAIM.sub(r"\g<indent>assert (\g<value>) == (\g<expected>), \g<value>", source)


def awaits_at_the_top(source: str) -> bool:
    """Whether only the prompt of `python -m asyncio` would take it."""
    try:
        compile(source, "page", "exec")
    except SyntaxError:
        return True
    return False


RUN = [page for page in PAGES if RUNNABLE.search(page.read_text())]


@pytest.mark.parametrize("page", [page for page in RUN if not awaits_at_the_top(program(page))], ids=name)
def test_the_program_of_a_page_runs_as_a_reader_would_paste_it(
    page: Path, database: str, tmp_path: Path
) -> None:
    (tmp_path / "page.py").write_text(checked(program(page)))
    done = ran(tmp_path, database, "page.py")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [page for page in RUN if awaits_at_the_top(program(page))], ids=name)
def test_what_a_page_prints_for_the_prompt_of_asyncio_runs_there(
    page: Path, database: str, tmp_path: Path
) -> None:
    done = ran(tmp_path, database, "-m", "asyncio", typed=checked(program(page)))
    assert "Error" not in done.stderr, done.stderr


LEAVES = re.compile(r"create table|app\.jobs\(")  # what an earlier run left is met again


@pytest.mark.parametrize("page", [page for page in RUN if LEAVES.search(program(page))], ids=name)
def test_a_program_that_meets_what_it_left_runs_a_second_time(
    page: Path, database: str, tmp_path: Path
) -> None:
    (tmp_path / "page.py").write_text(program(page))
    for _ in range(2):
        done = ran(tmp_path, database, "page.py")
        assert done.returncode == 0, done.stderr


def ran(
    folder: Path, database: str, *arguments: str, typed: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python on a database, with what a reader types into it."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "KAIROS_DATABASE_URL": database},
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("page", [page for page in PAGES if TESTS.search(page.read_text())], ids=name)
def test_the_tests_of_a_page_pass_as_printed(page: Path, tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(program(page, TESTS))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("KAIROS_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_pages_are_programs() -> None:
    first = [ROOT / "README.md", *ROOT.glob("docs/start/*.md"), ROOT / "docs/learn/retries.md"]
    assert not [name(page) for page in first if awaits_at_the_top(program(page))]


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
    found = re.findall(r"(?<![\w./])((?:[\w.]+/)*[a-z_]\w+\.(?:py|sql))\b", page.read_text())
    named = [file.lstrip("./") for file in found]
    there = [
        str(path)
        for folder in ("src", "tests", "bench", "chaos", "cluster", "examples", "deploy", "docsite")
        for path in (ROOT / folder).rglob("*.*")
    ]
    # The reader's own.
    users = {"app.py", "path/to/file.py", "settings.py", "shop/jobs.py", "test_shop.py", "manage.py"}
    assert [
        file for file in named if file not in users and not any(each.endswith(f"/{file}") for each in there)
    ] == []
