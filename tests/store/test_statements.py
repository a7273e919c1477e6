"""Every statement: one file, a header that says what it does, and SQL that Postgres accepts as it stands."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest

import kairos
from kairos.store.query import in_schema, statements

SQL = statements("kairos")
FOLDER = Path(str(files("kairos.store") / "sql"))
WRITES_JOBS = re.compile(r"(?:update|insert into|delete from) kairos\.gen_durable\b")
READS_JOBS = re.compile(r"(?:from|join|update) kairos\.gen_durable\b")
# What these read of the jobs is everything, or a few rows that another statement named.
READS_ALL = {"list_queues", "admit_queue", "lock_queue", "count_ledger"}


def header(name: str) -> str:
    """The comment at the top, as one line."""
    return " ".join(re.match(r"(?:--.*\n)+", SQL[name] + "\n")[0].replace("--", "").split())  # type: ignore[index]


def body(name: str) -> str:
    return re.sub(r"--.*", "", SQL[name])


@pytest.mark.parametrize("name", sorted(SQL))
def test_a_statement_begins_with_its_name_and_what_it_does(name: str) -> None:
    assert re.match(rf"{name}: \w", header(name))
    assert header(name).endswith((".", ")."))
    assert ";" not in body(name)


@pytest.mark.parametrize("name", [name for name in sorted(SQL) if WRITES_JOBS.search(SQL[name])])
def test_a_statement_that_changes_jobs_names_its_guard(name: str) -> None:
    assert "Guard:" in header(name)
    if re.search(
        r"\bstatus = (?:case|\(case|')", body(name).partition(" where ")[0]
    ) or "insert into kairos.gen" in body(name):
        assert "->" in header(name), "it moves jobs and does not say from where to where"


@pytest.mark.parametrize("name", [name for name in sorted(SQL) if READS_JOBS.search(body(name))])
def test_a_statement_that_looks_for_jobs_names_its_index(name: str) -> None:
    assert name in READS_ALL or "Index:" in header(name)


@pytest.mark.parametrize("name", sorted(SQL))
def test_a_status_is_written_only_with_its_history(name: str) -> None:
    moves = re.findall(r"update kairos\.gen_durable g set(.*?)(?:where|from)", body(name), re.S)
    if any(re.search(r"\bstatus\s*=", part) for part in moves) and not name.startswith("pick_"):
        assert "insert into kairos.history" in body(name)


@pytest.mark.parametrize("schema", ["kairos", "other"])
def test_every_statement_is_accepted_by_postgres(connection: psycopg.Connection[Any], schema: str) -> None:
    if schema == "other":
        connection.execute("alter schema kairos rename to other")
        connection.execute("set local check_function_bodies = on")
    for name, text in statements(schema).items():
        connection.execute(f"prepare {name} as {text}".encode())
    prepared = connection.execute("select count(*) from pg_prepared_statements").fetchone()
    assert prepared == (len(SQL),)


def test_another_schema_leaves_no_trace_of_the_usual_one() -> None:
    for name, text in statements("other").items():
        assert "kairos." not in re.sub(r"--.*", "", text), name
    assert in_schema("kairos.now() xkairos.y 'kairos.z'", "s") == "s.now() xkairos.y 's.z'"


def test_no_statement_is_forgotten_and_none_is_called_that_is_not_there() -> None:
    """Each is named by the code exactly as its file is."""
    sources = "\n".join(path.read_text() for path in Path(kairos.__file__).parent.rglob("*.py"))
    asked = set(re.findall(r'Query\(\s*"(\w+)"', sources))
    assert asked <= set(SQL)
    unused = {name for name in SQL if f'"{name}"' not in sources}
    assert not unused


@pytest.mark.parametrize("path", sorted((FOLDER / "migrations").glob("*.sql")), ids=lambda path: path.name)
def test_a_migration_says_what_it_is(path: Path) -> None:
    assert re.fullmatch(r"\d{4}_[a-z_]+(\.gen)?\.sql", path.name)
    assert path.read_text().startswith("-- ")
