"""The reference is complete: whatever is public is on its page, and what is on the page is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer
from pydantic.alias_generators import to_camel
from tests.docs.pages import PAGES, ROOT, code, name, text

import kairos
from kairos import defaults, errors
from kairos.cli import root
from kairos.cli.worker_process import WorkerOptions
from kairos.config import Settings
from kairos.machine.call import Options
from kairos.shapes.history import HistoryRow
from kairos.shapes.job_filters import FILTERS
from kairos.shapes.queue import LIMITS
from kairos.shapes.shape import shapes
from kairos.worker.worker_settings import WorkerSettings


@pytest.mark.parametrize(
    ("names", "internal"),
    [
        (kairos.__all__, ()),
        (dir(kairos.Kairos), ("retrying", "store", "synchronise", "transact")),
        (dir(kairos.Context), ("reported", "spawned", "step_transaction", "taken")),
        (dir(kairos.Job), ("apply", "bound")),
        (Options.__slots__, ("delay_by", "ttl_by", "scope", "actor", "request_id", "trace")),
    ],
    ids=["kairos", "app", "context", "job", "options"],
)
def test_the_python_page_lists_every_public_name(names: Sequence[str], internal: Sequence[str]) -> None:
    public = {each for each in names if not each.startswith("_")} - set(internal)
    assert public - code("docs/reference/python.md") == set()


def test_the_errors_page_lists_every_error_with_its_code_and_numbers() -> None:
    page = text("docs/reference/errors.md")
    rows = [
        f"| `{each.__name__}` | `{each.code}` | {each.http_status} | {each.exit_code} |" for each in tree()
    ]
    assert [row for row in rows if row not in page] == []
    assert set(re.findall(r"^\| `(\w+)` \| `\w+` \|", page, re.MULTILINE)) == {
        each.__name__ for each in tree()
    }


def tree(top: type[errors.KairosError] = errors.KairosError) -> Iterator[type[errors.KairosError]]:
    yield top
    for error in top.__subclasses__():
        if error.__module__ == errors.__name__:
            yield from tree(error)


def test_the_settings_page_lists_every_setting_with_its_variable_and_default() -> None:
    page, defaults = text("docs/reference/settings.md"), Settings()
    for field in Settings.__slots__:
        value = getattr(defaults, field)
        shown = "" if value is None else f" `{str(value).lower()}` |"
        assert f"| `{field}` | `KAIROS_{field.upper()}` |{shown}" in page


def test_the_page_on_workers_lists_everything_a_worker_may_be_told() -> None:
    assert set(WorkerSettings.__slots__) - code("docs/operate/running-workers.md") == set()


@pytest.mark.parametrize("field", ["concurrency", "lease", "poll", "grace", "retention"])
def test_a_default_of_a_worker_is_the_same_in_python_on_the_command_line_and_in_the_docs(field: str) -> None:
    default = getattr(defaults, field.upper())
    assert getattr(WorkerSettings(), field) == default
    assert getattr(WorkerOptions(), field) == default
    worker = typer.main.get_command(root.app).commands["worker"]  # type: ignore[attr-defined]
    assert next(each.default for each in worker.params if each.name == field) == default
    assert f"| `{field}` | `--{field}` | `{default}` |" in text("docs/reference/settings.md")
    assert f"| `{field}` | `{default}` |" in text("docs/operate/running-workers.md")


def test_the_reference_lists_every_filter_of_jobs() -> None:
    arguments = ", ".join([*(each.attribute for each in FILTERS), "before", "limit"])
    assert f"`jobs({arguments})`" in text("docs/reference/python.md")
    described = paragraph("docs/reference/http.md", "**Filters**")
    assert {each.name for each in FILTERS} - set(re.findall(r"`(\w+)`", described)) == set()


def test_the_reference_lists_every_column_of_history() -> None:
    columns = paragraph("docs/reference/python.md", "| `history(id)` |")
    assert {each.name for each in fields(HistoryRow)} - {"id"} <= set(re.findall(r"\w+", columns))
    members = paragraph("docs/reference/http.md", "| `GET /api/jobs/{id}/history` |")
    assert {each.name for each in shapes()[HistoryRow].members} - {"id"} <= set(re.findall(r"\w+", members))


def test_the_reference_lists_every_limit_of_a_queue() -> None:
    assert f"`limit({', '.join(['queue', *LIMITS])})`" in text("docs/reference/python.md")
    members = paragraph("docs/reference/http.md", "| `PATCH /api/queues/{name}` |")
    assert {to_camel(each) for each in LIMITS} <= set(re.findall(r"\w+", members))
    flags = {f"--{each.replace('_', '-')}" for each in LIMITS}
    assert flags <= dict(commands())["queues limit"]
    assert flags <= options(paragraph("docs/reference/cli.md", "| `kairos queues limit` |"))
    assert [each for each in LIMITS if f"| `{each}` |" not in text("docs/learn/keys-and-limits.md")] == []


def paragraph(path: str, start: str) -> str:
    """The row of a table that begins so, or else the whole paragraph."""
    rest = text(path)[text(path).index(start) :]
    return rest.partition("\n" if start.startswith("|") else "\n\n")[0]


def test_what_the_page_on_failures_quotes_is_said_somewhere() -> None:
    page = text("docs/operate/failure-modes.md")
    quoted = [
        words for row in page.splitlines() if row.startswith("|") for words in re.findall(r'"([^"]+)"', row)
    ]
    quoted += [code for code in re.findall(r"`([A-Z]+_[A-Z_]+)`", page) if not code.startswith("KAIROS_")]
    said = "".join(file.read_text() for file in (ROOT / "src").rglob("*.*") if file.suffix in (".py", ".sql"))
    assert len(quoted) > 10
    assert [words for words in quoted if words not in said] == []


def test_the_schema_page_lists_every_table_and_every_column_of_a_job(database: str) -> None:
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "select table_name, column_name from information_schema.columns where table_schema = 'kairos'"
        ).fetchall()
    listed = code("docs/reference/sql.md")
    assert {table for table, _ in found} - listed == set()
    assert {column for table, column in found if table == "gen_durable"} - listed == set()


def test_the_cli_page_names_every_command_and_only_options_that_it_has() -> None:
    rows = dict(re.findall(r"^\| `kairos ([a-z -]+)` \|(.*)$", text("docs/reference/cli.md"), re.MULTILINE))
    there = dict(commands())
    assert rows.keys() == there.keys()
    assert {command: wrong for command, row in rows.items() if (wrong := options(row) - there[command])} == {}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_in_a_shell_block_exists(page: Path) -> None:
    there = {*dict(commands()), "setup", "test", "docs"}
    for block in re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        for line in re.findall(r"^(?:\./)?kairos (.+)$", block, re.MULTILINE):
            words = line.split()
            assert words[0] in there or " ".join(words[:2]) in there, line


def commands(group: Any = None, path: str = "") -> Iterator[tuple[str, set[str]]]:
    """Every command by its full name, with its options."""
    group = group or typer.main.get_command(root.app)
    for word, command in group.commands.items():
        full = f"{path} {word}".strip()
        if hasattr(command, "commands"):
            yield from commands(command, full)
        elif full in ("bench", "chaos", "cluster"):  # they have parsers of their own
            yield full, set(re.findall(r'add_argument\("(--[\w-]+)"', text(f"{full}/__main__.py")))
        else:
            yield full, {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


def options(row: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])(--[a-z-]+)", row))
