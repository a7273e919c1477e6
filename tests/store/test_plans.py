"""The index a statement names is the index it uses, on a table where a wrong plan would hurt."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.shared_database import migrated_database
from tests.store.test_statements import SQL, header

from kairos.shapes.job_filters import FILTERS
from kairos.store.connection_settings import PLAN_SETTINGS

SEED = (Path(__file__).parent / "seed.sql").read_text()
READS = "explain (analyze, buffers, costs off, timing off, summary off)"
NAMED = {
    name: re.findall(r"\b(?:gen_durable|signals|history)_\w+", header(name).split("Index:")[1])
    for name in SQL
    if "Index:" in header(name)
}
# A parameter by its type; by its statement and place where the type does not tell enough.
BY_TYPE: dict[str, Any] = {
    "text": "default",
    "integer": 100,
    "smallint": 0,
    "bigint": 30_000,
    "boolean": True,
    "interval": "30 s",
    "bytea": b"unique 5",
    "timestamp with time zone": "2030-01-01Z",
    "bigint[]": list(range(30_000, 30_050)),
    "text[]": ["key 5", "key 6", "key 7"],
    "integer[]": [1, 1, 1],
    "smallint[]": [-1, 0, 1],
}
COLUMN = {"bigint": "{" + ",".join(str(number) for number in range(30_000, 30_050)) + "}"}
NOTHING = "{" + ",".join(["null"] * 50) + "}"
# The places of the filters that `count_jobs` takes.
COUNTED = {each.name: place for place, each in enumerate((each for each in FILTERS if each.index), start=2)}
BY_PLACE: dict[tuple[str, int], Any] = {
    ("deliver_signal", 1): None,
    ("deliver_signal", 4): "{}",
    ("match_schedule", 7): "{}",
    ("match_schedule", 20): "{}",
    ("save_plan", 3): "{}",
    ("retry_jobs", 4): None,
    ("next_due", 1): ["default", "other"],
    ("next_known_due", 1): ["default", "other"],
    ("next_known_due", 4): '{"act@1": "{n}"}',
    ("pick_known_jobs", 8): '{"act@1": "{n}"}',
    ("pick_jobs", 6): None,
    ("pick_jobs_from", 6): None,
    ("pick_jobs_from", 9): [0, 0, 0],
    ("pick_jobs_from", 10): [0, 0, 0],
    **{("list_jobs", place): None for place in (2, *range(6, 7 + len(FILTERS)))},
    **{("count_jobs", place): None for place in COUNTED.values()},
    ("read_list_versions", 3): None,
    **{("list_error_groups", place): None for place in (1, 3, 4, 5)},
    ("find_jobs_by_argument", 1): ["email:5@example.com"],
    **{("find_jobs_by_argument", place): None for place in (2, 3)},
    **{("count_activity", place): 59_900 for place in (1, 2, 3)},
    ("count_activity", 4): 60_000,
    ("list_queues", 1): None,
    ("reap_jobs", 2): None,
    ("reap_jobs", 4): None,
    ("expire_jobs", 2): None,
    ("timeout_jobs", 2): None,
    ("find_stuck_keys", 1): "key",
    ("purge_jobs", 1): "7 days",
    ("purge_jobs", 3): None,
    ("save_queue", 2): ["key_rate"],
}


@pytest.fixture(scope="module")
def seeded(kairos_admin: Any, kairos_server: str, kairos_template: str) -> Iterator[str]:
    """A database with 60,000 jobs in it, whose ids begin at 1: the seed tells its jobs apart by them."""
    with migrated_database(kairos_admin, kairos_server, kairos_template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            # A vacuum in the middle of a long run would tip the choice between two indexes that are as good.
            for table in ("gen_durable", "signals", "history"):
                connection.execute(f"alter table kairos.{table} set (autovacuum_enabled = off)".encode())
            connection.execute(SEED)
            _mark_dead_entries(connection)
        yield url


def _mark_dead_entries(connection: psycopg.Connection[Any]) -> None:
    """Read the index that has an entry for each version of the settled jobs, until those of dead rows are marked.

    Postgres marks none while another session, such as an autovacuum of the catalogue, holds an older snapshot.
    """
    first = "select queue from kairos.gen_durable where status <> 'executing' order by queue, fsm, status, id limit 1"
    deadline = time.monotonic() + 60
    connection.execute("set enable_seqscan = off; set enable_sort = off")
    while buffers(plan := "\n".join(row[0] for row in connection.execute(f"{READS} {first}".encode()))) > 500:
        assert time.monotonic() < deadline, plan
        time.sleep(0.1)


@pytest.fixture(scope="module", params=[PLAN_SETTINGS, {}], ids=["our session", "any session"])
def planner(seeded: str, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Any]]:
    """A session as the store opens it, or someone's own that was handed to `app.on`."""
    with psycopg.connect(seeded, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        for name, value in request.param.items():
            connection.execute("select set_config(%s, %s, false)", [name, value])
        yield connection


def sample(name: str, place: int, kind: str) -> Any:
    if (name, place) in BY_PLACE:
        return BY_PLACE[name, place]
    if column := re.search(rf"\${place}::text::(\w+)\[\]", SQL[name]):
        return COLUMN.get(column[1], NOTHING)
    return BY_TYPE[kind]


def plans(
    planner: psycopg.Connection[Any], name: str, changes: dict[int, Any], explain: str = "explain"
) -> tuple[str, str]:
    """The plan of the first execution, and the one a prepared statement settles on after many."""
    planner.execute(f"deallocate all; prepare {name} as {SQL[name]}".encode())
    (kinds,) = planner.execute("select parameter_types::text[] from pg_prepared_statements").fetchone() or (
        [],
    )
    values = [changes.get(place, sample(name, place, kind)) for place, kind in enumerate(kinds, 1)]
    marks = f"({', '.join(['%s'] * len(values))})" if values else ""
    asked = f"{explain} execute {name}{marks}".encode()
    seen = ["\n".join(row[0] for row in planner.execute(asked, values)) for _ in range(8)]
    return seen[0], seen[-1]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *((name, {}) for name in sorted(NAMED)),
        ("reap_jobs", {2: "w1"}),
        ("list_jobs", {1: None}),
        ("list_jobs", {9: "other", 13: "text"}),
        ("count_jobs", {2: "act"}),
        ("count_jobs", {3: "other"}),
    ],
)
def test_a_statement_uses_the_index_it_names_however_often_it_is_prepared(
    planner: psycopg.Connection[Any], name: str, changes: dict[int, Any]
) -> None:
    for plan in plans(planner, name, changes):
        assert not re.search(r"Seq Scan on (?:gen_durable|signals|history)\b", plan), plan
        assert [index for index in NAMED[name] if index not in plan] == [], plan


@pytest.mark.parametrize(
    "name",
    [
        "pick_jobs",
        "pick_jobs_from",
        "pick_known_jobs",
        "next_due",
        "next_known_due",
        "next_deadlines",
        "find_late_queues",
        "find_long_waits",
        "expire_jobs",
        "timeout_jobs",
        "reap_jobs",
        "find_stuck_keys",
        "purge_jobs",
    ],
)
def test_what_is_not_due_is_not_read(planner: psycopg.Connection[Any], name: str) -> None:
    """Twenty thousand jobs are due in a month, more urgent than all others: they cost a pick nothing."""
    with planner.transaction(force_rollback=True):
        _, plan = plans(planner, name, {}, "explain (analyze, costs off, timing off, summary off)")
    removed = [int(rows) for rows in re.findall(r"Rows Removed by Filter: (\d+)", plan)]
    assert sum(removed) < 200, plan


# Lists: the index of the narrowest filter, and no further than the walk is long. What an index answers by itself is
# read no further than a page, however rare it is and whatever else there is.

WALK = 100
PLACES = {
    name: place
    for place, name in enumerate(
        (
            "before",
            "among",
            "walk",
            "limit",
            "whole",
            "statuses",
            "states",
            *(each.name for each in FILTERS[1:]),
        ),
        1,
    )
}


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({}, "pkey"),
        ({"before": 30_000}, "pkey"),
        ({"queue": "nowhere"}, "kinds"),
        ({"queue": "other"}, "kinds"),
        ({"text": "nothing"}, "pkey"),
        ({"tag": "nothing"}, "pkey"),
        ({"to": "2001-01-01Z"}, "pkey"),
        ({"statuses": ["failed"], "states": ["failed"]}, "kinds"),
        ({"statuses": ["done"], "states": ["success"]}, "kinds"),
        ({"statuses": ["awaiting_signal"], "states": ["waiting"]}, "kinds"),
        ({"statuses": ["executing"], "states": ["running"]}, "lease"),
        ({"action": "nothing"}, "kinds"),
        ({"action": "act", "statuses": ["failed"], "states": ["failed"]}, "kinds"),
        ({"key": "key 5"}, "of_key"),
        ({"key": "key 5", "statuses": ["failed"], "states": ["failed"]}, "of_key"),
        ({"schedule": "nightly"}, "of_schedule"),
        ({"schedule": "nightly", "statuses": ["done"], "states": ["success"]}, "of_schedule"),
        ({"parent": 7}, "of_parent"),
        ({"parent": 7, "statuses": ["done"], "states": ["success"]}, "of_parent"),
        ({"error": "group 5"}, "of_error"),
        ({"retryOf": 7}, "of_retry"),
        ({"retryOf": 7, "statuses": ["done"], "states": ["success"]}, "of_retry"),
        ({"queue": "other", "statuses": ["done"], "states": ["success"]}, "kinds"),
        ({"input": ["n:5"]}, "pkey"),
    ],
    ids=str,
)
def test_a_list_reads_no_more_rows_than_its_walk_is_long(
    planner: psycopg.Connection[Any], filters: dict[str, Any], index: str
) -> None:
    given = {**filters, "walk": WALK, "limit": 51}
    changes = {place: given.get(name, True if name == "whole" else None) for name, place in PLACES.items()}
    for plan in plans(planner, "list_jobs", changes, "explain (analyze, costs off, timing off, summary off)"):
        assert f"gen_durable_{index}" in plan, plan
        assert "Seq Scan on gen_durable" not in plan, plan
        reads = re.findall(
            r"Scan.* on gen_durable \w+ \(actual rows=(\d+)[.\d]* loops=(\d+)\)(?:(?!->).)*?"
            r"(?:Rows Removed by Filter: (\d+))?",
            plan,
        )
        # Six statuses at most, each with a few actions, then the walk itself and the jobs that are shown. The table
        # is not vacuumed: what an index knows of dead rows does not count here.
        most = 1100 if index == "lease" else 10 * WALK
        assert sum(int(rows) * int(loops) + int(removed or 0) for rows, loops, removed in reads) < most, plan


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"queue": "rare"},
        {"queue": "nowhere"},
        {"action": "rare"},
        {"statuses": ["failed"], "states": ["failed"]},
        {"statuses": ["done"], "states": ["success"]},
        {"statuses": ["done"], "states": ["success"], "queue": "rare"},
        {"statuses": ["done"], "states": ["success"], "action": "rare"},
        {"key": "key 5", "statuses": ["failed"], "states": ["failed"]},
        {"key": "key 5"},
        {"schedule": "nightly", "statuses": ["failed"], "states": ["failed"]},
        {"parent": 7, "statuses": ["done"], "states": ["success"]},
        {"error": "group 5"},
        {"retryOf": 7},
    ],
    ids=str,
)
def test_a_list_that_an_index_answers_reads_no_more_than_a_page_of_each_kind(
    planner: psycopg.Connection[Any], filters: dict[str, Any]
) -> None:
    given = {**filters, "walk": 51, "limit": 51}
    changes = {place: given.get(name, True if name == "whole" else None) for name, place in PLACES.items()}
    for plan in plans(planner, "list_jobs", changes, READS):
        # Three queues with an action or two each, six statuses: a page of each, looked up, checked and shown.
        assert rows_read(plan) < 1000, plan
        assert buffers(plan) < 3000, plan


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"action": "act"},
        {"queue": "other"},
        {"key": "key 5"},
        {"schedule": "nightly"},
        {"parent": 7},
        {"retryOf": 7},
    ],
    ids=str,
)
def test_counts_read_no_more_of_each_state_than_is_asked_for(
    planner: psycopg.Connection[Any], filters: dict[str, Any]
) -> None:
    changes = {1: 200, **{place: filters.get(name) for name, place in COUNTED.items()}, 2 + len(COUNTED): 200}
    for plan in plans(
        planner, "count_jobs", changes, "explain (analyze, costs off, timing off, summary off)"
    ):
        # Eight states, each in the lines of a few queues and priorities; running jobs are always counted whole.
        assert rows_read(plan) < 6000, plan
        assert "Seq Scan on gen_durable" not in plan, plan


@pytest.mark.parametrize("due", [True, False])
def test_what_is_due_and_what_is_not_are_gathered_apart(planner: psycopg.Connection[Any], due: bool) -> None:
    for plan in plans(
        planner,
        "find_due_jobs",
        {1: due, 2: None, 3: None, 4: 100, 5: 50},
        "explain (analyze, costs off, timing off, summary off)",
    ):
        assert rows_read(plan) < 1000, plan
        assert "Seq Scan on gen_durable" not in plan, plan


@pytest.mark.parametrize("path", ["email", "*"])
def test_searchable_arguments_are_found_in_their_own_index(
    planner: psycopg.Connection[Any], path: str
) -> None:
    changes = {1: [f"{path}:5@example.com"], 2: None, 3: None, 4: 100}
    for plan in plans(planner, "find_jobs_by_argument", changes):
        assert "gen_durable_search" in plan, plan
        assert "Seq Scan on gen_durable" not in plan, plan


def test_a_tag_is_found_in_its_own_index(planner: psycopg.Connection[Any]) -> None:
    for plan in plans(planner, "find_jobs_by_tag", {1: "nothing", 2: None, 3: 100}):
        assert "gen_durable_tags" in plan, plan


def test_the_words_of_an_error_are_found_in_their_own_index(planner: psycopg.Connection[Any]) -> None:
    for plan in plans(planner, "find_jobs_by_error_words", {1: "card expired", 2: None, 3: 100}):
        assert "gen_durable_error_text" in plan, plan


def buffers(plan: str) -> int:
    """The pages that the plan met, of tables and indexes."""
    found = re.search(r"Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?", plan)
    assert found is not None, plan
    return int(found[1] or 0) + int(found[2] or 0)


def rows_read(plan: str) -> int:
    """Every row that the plan met in the large tables, also those it did not want."""
    scans = re.split(r"\n(?=\s*->)", plan)
    met = 0
    for scan in scans:
        if found := re.search(r"Scan.* on (?:gen_durable|audit) .*actual rows=([\d.]+) loops=(\d+)", scan):
            removed = re.search(r"Rows Removed by Filter: (\d+)", scan)
            met += int((float(found[1]) + int(removed[1] if removed else 0)) * int(found[2]))
    return met


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({}, "audit_pkey"),
        ({1: 15_000}, "audit_pkey"),
        ({2: "rare"}, "audit_actor"),
        ({2: "nobody"}, "audit_actor"),
        ({3: "rare"}, "audit_verb"),
        ({2: "key 1", 3: "rare"}, "audit_actor_verb"),
        ({2: "key 1", 3: "enqueue2"}, "audit_actor_verb"),
        ({4: "rare"}, "audit_target"),
        ({4: "rare", 2: "key 1"}, "audit_target"),
        ({1: 15_000, 4: "thing 1"}, "audit_target"),
    ],
    ids=str,
)
def test_a_page_of_the_audit_log_reads_no_more_than_it_shows_however_rare_what_is_asked_for(
    planner: psycopg.Connection[Any], filters: dict[int, Any], index: str
) -> None:
    changes = {**dict.fromkeys(range(1, 5)), **filters, 5: 50}
    for plan in plans(
        planner, "list_audit", changes, "explain (analyze, costs off, timing off, summary off)"
    ):
        assert re.search(rf"using {index}\b", plan), plan
        assert "Seq Scan on audit " not in plan, plan
        assert rows_read(plan) <= 50, plan


@pytest.mark.parametrize(("name", "most"), [(None, 15_000), ("other", 7_000)])
def test_queues_are_counted_no_further_than_is_asked_for_in_indexes_alone(
    planner: psycopg.Connection[Any], name: str | None, most: int
) -> None:
    changes = {1: name, 2: 3000, 3: None, 4: None, 5: "30 s", 6: 10_000}
    for plan in plans(
        planner, "list_queues", changes, "explain (analyze, costs off, timing off, summary off)"
    ):
        # Eight lines, each with a thousand due and a thousand for later at most; running and waiting ones.
        assert rows_read(plan) < most, plan
        assert "Seq Scan on gen_durable" not in plan, plan
        used = re.findall(
            r"(Index Only Scan|Index Scan|Bitmap Index Scan)[\w ]*? (?:using|on) (gen_\w+)", plan
        )
        whole = {index for kind, index in used if kind == "Index Only Scan"}
        assert whole == {
            "gen_durable_pick", "gen_durable_queue_held", "gen_durable_queue_waiting", "gen_durable_kinds",
        }, plan  # fmt: skip
        assert {index for kind, index in used if kind != "Index Only Scan"} == {"gen_durable_lease"}, plan
