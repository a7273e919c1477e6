"""Every statement: one file, a header that says what it does, and SQL that Postgres accepts as it stands."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.every_row import every_row

import kairos
from kairos.fsm.lifecycle import TRANSITIONS, By, JobState, Verb
from kairos.store.query import in_schema, statements

SQL = statements("kairos")
FOLDER = Path(str(files("kairos.store") / "sql"))
WRITES_JOBS = re.compile(r"(?:update|insert into|delete from) kairos\.gen_durable\b")
READS_JOBS = re.compile(r"(?:from|join|update) kairos\.gen_durable\b")
# What these read of the jobs is everything, or a few rows that another statement named.
READS_ALL = {"list_queues", "admit_queue", "lock_queue", "check_job_ledger"}


def header(name: str) -> str:
    """The comment at the top, as one line."""
    return " ".join(re.match(r"(?:--.*\n)+", SQL[name] + "\n")[0].replace("--", "").split())  # type: ignore[index]


def body(name: str) -> str:
    return re.sub(r"--.*", "", SQL[name])


@every_row(sorted(SQL))
def test_a_statement_begins_with_its_name_and_what_it_does(name: str) -> None:
    assert re.match(rf"{name}: \w", header(name))
    assert header(name).endswith((".", ")."))
    assert ";" not in body(name)


@every_row([name for name in sorted(SQL) if WRITES_JOBS.search(SQL[name])])
def test_a_statement_that_changes_jobs_names_its_guard(name: str) -> None:
    assert "Guard:" in header(name)
    if re.search(
        r"\bstatus = (?:case|\(case|')", body(name).partition(" where ")[0]
    ) or "insert into kairos.gen" in body(name):
        assert "->" in header(name), "it moves jobs and does not say from where to where"


@every_row([name for name in sorted(SQL) if READS_JOBS.search(body(name))])
def test_a_statement_that_looks_for_jobs_names_its_index(name: str) -> None:
    assert name in READS_ALL or "Index:" in header(name)


@every_row(sorted(SQL))
def test_a_status_is_written_only_with_its_history(name: str) -> None:
    moves = re.findall(r"update kairos\.gen_durable g set(.*?)(?:where|from)", body(name), re.S)
    if any(re.search(r"\bstatus\s*=", part) for part in moves) and not name.startswith("pick_"):
        assert "insert into kairos.history" in body(name)


def test_jobs_are_inserted_in_one_place_and_its_short_form() -> None:
    """Enqueues, children, retries, ticks and triggers share it: a new column of a job is added there, and to the short
    form for jobs without a key, which leaves out only what such jobs do not have.
    """
    texts = {
        path.stem: path.read_text() for path in FOLDER.rglob("*.sql") if path.parent.name != "migrations"
    }
    columns = {
        name: set(re.findall(r"\w+", found[1]))
        for name, text in texts.items()
        if (found := re.search(r"insert into kairos\.gen_durable \((.*?)\)", text, re.S))
    }
    assert set(columns) == {"insert_job_rows", "insert_alike_jobs"}
    assert columns["insert_job_rows"] - columns["insert_alike_jobs"] == {
        "search",
        "partition_key",
        "ordered",
        "held",
        "unique_key",
        "unique_scope",
        "retry_of",
        "schedule",
        "tick_at",
    }
    inserting = {name for name, text in SQL.items() if "insert into kairos.gen_durable" in text}
    assert inserting == {
        "insert_jobs",
        "insert_alike_jobs",
        "retry_jobs",
        "fire_ticks",
        "trigger_schedule",
    }


def test_every_verb_by_which_a_worker_ends_the_run_of_a_step_has_its_time_measured() -> None:
    text = (FOLDER / "fragments" / "run_bucket.sql").read_text()
    ends = {row.verb for row in TRANSITIONS if JobState.RUNNING in row.sources and row.by is By.WORKER}
    assert set(re.findall(r"'(\w+)'", text)) == ends - {Verb.RELEASE}  # a job that is released did not run


@pytest.mark.parametrize("path", sorted((FOLDER / "fragments").glob("*.sql")), ids=lambda path: path.stem)
def test_a_fragment_begins_with_its_name_and_is_part_of_a_statement(path: Path) -> None:
    assert path.read_text().startswith(f"-- {path.stem}: ")
    included = re.compile(rf"^ *\{{{path.stem}\b", re.MULTILINE)
    texts = [
        each.read_text() for folder in ("queries", "fragments") for each in (FOLDER / folder).rglob("*.sql")
    ]
    assert any(included.search(text) for text in texts)
    assert not any(included.search(text) for text in SQL.values())


@pytest.mark.parametrize("schema", ["kairos", "other"])
def test_every_statement_is_accepted_by_postgres(connection: psycopg.Connection[Any], schema: str) -> None:
    if schema == "other":
        connection.execute("alter schema kairos rename to other")
        connection.execute("set local check_function_bodies = on")
    for name, text in statements(schema).items():
        connection.execute(f"prepare {name} as {text}".encode())
    prepared = connection.execute("select count(*) from pg_prepared_statements").fetchone()
    assert prepared == (len(SQL),)


def test_another_schema_leaves_no_name_in_the_usual_one() -> None:
    for name, text in statements("other").items():
        code = re.sub(r"--.*|'(?:[^']|\'\')*'(?!::regclass)", "", text)
        assert "kairos." not in code, name


@pytest.mark.parametrize(
    ("sql", "renamed"),
    [
        ("select kairos.now() from kairos.jobs", "select s.now() from s.jobs"),
        ("select xkairos.y, kairos", "select xkairos.y, kairos"),
        ("select 'kairos.webhook', 'it''s kairos.z'", "select 'kairos.webhook', 'it''s kairos.z'"),
        ("select nextval('kairos.a_seq'::regclass)", "select nextval('s.a_seq'::regclass)"),
        ("-- it's kairos.a\nselect kairos.a", "-- it's kairos.a\nselect s.a"),
        ("/* kairos.a ' */ select kairos.a", "/* kairos.a ' */ select s.a"),
        ("as $$ select kairos.a('kairos.b') $$", "as $$ select s.a('kairos.b') $$"),
        ("set kairos.x = 'on'; current_setting('kairos.x')", "set s.x = 'on'; current_setting('s.x')"),
    ],
)
def test_only_a_name_in_front_of_which_the_schema_stands_is_moved_to_another_schema(
    sql: str, renamed: str
) -> None:
    assert in_schema(sql, "s") == renamed
    assert in_schema(sql, "kairos") == sql


def test_a_released_migration_reads_in_another_schema_as_it_did_when_it_was_released() -> None:
    """Comments and the webhooks' action apart: a database in another schema already has it so."""
    for path in sorted((FOLDER / "migrations").glob("*.sql")):
        if path.name < "0011":
            before = re.sub(r"\bkairos\.", "other.", path.read_text())
            after = in_schema(path.read_text(), "other")
            assert re.sub(r"--.*", "", after) == re.sub(r"--.*", "", before), path.name


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
