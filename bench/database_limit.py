"""Measure the limit of the database: pgbench sends the same statements, prepared, without Python."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from inspect import signature
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bench import floor
from bench.database import Databases
from bench.worker_actions import QUEUE
from kairos.embedded import find_binaries
from kairos.fsm.lifecycle import Status, Verb
from kairos.machine.call import Call, Options
from kairos.operations import insert
from kairos.store.query import statements
from kairos.worker.claim import Claim
from kairos.worker.commit import settle_query
from kairos.worker.settle import Settlement

BATCH = floor.BATCH
IDS = object()  # a parameter: the ids that the claim before returned


def pgbench() -> Path | None:
    program = find_binaries() / "pgbench"
    return program if program.exists() else None


def drain(databases: Databases, jobs: int, clients: int, script: str) -> float:
    """Return how many jobs a second `script` claims and finishes; Kairos and the floor have as many jobs each."""
    database = databases.get()
    database.add(count=jobs)
    database.run(floor.FILL, (QUEUE, jobs))
    database.settle()
    rate = _run(database.url, script, jobs // BATCH // clients, clients) * BATCH
    done = database.value(
        "select greatest((select count(*) from kairos.gen_durable where status = 'done'),"
        " (select count(*) from floor.jobs where status = 2))"
    )
    if done < 0.9 * jobs:
        raise RuntimeError(
            f"pgbench finished only {done} of {jobs} jobs: its script does not fit the statements"
        )
    database.clear()
    return rate


def enqueue(databases: Databases, batch: int, clients: int, transactions: int) -> float:
    database = databases.get()
    database.settle()
    rate = _run(database.url, _insert(batch), transactions, clients) * batch
    database.clear()
    return rate


def bare() -> str:
    """Return the script of the floor: its claim and its finish."""
    claim = _bind(floor.CLAIM, (QUEUE, BATCH))
    finish = _bind(floor.FINISH, (IDS,))
    return f"with claimed as ({claim}) select array_agg(id)::text as ids from claimed \\gset\n{finish};\n"


def own() -> str:
    """Return the script of Kairos: the pick and the settle of no-op jobs."""
    pick = _bind(
        statements("kairos")["pick_jobs"], (QUEUE, BATCH, "pgbench", timedelta(seconds=30), False, None, None)
    )
    # Postgres computes all rows of the pick; the script keeps only their ids, for the settle.
    claims, _, answer = pick.rpartition(") select ")
    picked = (
        f"{claims}), picked as materialized (select {answer}) select array_agg(id)::text as ids from picked"
    )
    outcomes = [Settlement(_claim(number), Verb.DONE, Status.DONE) for number in range(1, BATCH + 1)]
    query = settle_query("pgbench", outcomes)
    settle = _bind(statements("kairos")[query.name], (IDS, *query.params[1:]))
    return f"{picked} \\gset\n{settle};\n"


def _claim(number: int) -> Claim:
    known = {
        "queue": QUEUE,
        "id": number,
        "lease": 1,
        "action": "noop",
        "version": 1,
        "step": "run",
        "state": "{}",
    }
    known |= {"attempt": 0, "awaits": (), "picked_at": datetime.now(UTC)}
    return Claim(**{name: known.get(name) for name in signature(Claim).parameters})


def _insert(batch: int) -> str:
    query = insert([Call("noop", 1, "run", '{"n":1}', QUEUE, None, Options())] * batch)
    return _bind(statements("kairos")[query.name], query.params) + ";\n"


def _bind(sql: str, values: Sequence[Any]) -> str:
    """Return the statement with its parameters as literals, on one line and without comments, as pgbench requires."""
    text = " ".join(re.sub(r"--.*", "", line).strip() for line in sql.splitlines())
    bound = re.sub(r"\$(\d+)", lambda found: _literal(values[int(found[1]) - 1]), text)
    # pgbench takes :name for a variable of its own, also in ::name and inside of quotes.
    parts = re.split(r"('(?:[^']|'')*')", bound)
    for place, part in enumerate(parts):
        parts[place] = part.replace(":", "' || chr(58) || '") if place % 2 else part.replace("::", " :: ")
    parts = [f"({part})" if "chr(58)" in part else part for part in parts]
    return "".join(parts).strip().rstrip(";")


def _literal(value: Any) -> str:
    match value:
        case None:
            return "null"
        case _ if value is IDS:
            return ":ids"
        case bool() | int():
            return str(value).lower()
        case timedelta():
            return f"interval '{value.total_seconds()} seconds'"
        case list():
            return f"array[{', '.join(map(_literal, value))}]" if value else "'{}'"
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def _run(url: str, script: str, transactions: int, clients: int) -> float:
    parts = urlsplit(url)
    where = {name: values[0] for name, values in parse_qs(parts.query).items()}
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        options = [
            "-n",
            "-M",
            "prepared",
            "-f",
            file.name,
            "-t",
            str(transactions),
            "-c",
            str(clients),
            "-j",
            "1",
        ]
        server = [
            "-h",
            where["host"],
            "-p",
            where["port"],
            "-U",
            parts.username or "kairos",
            parts.path.lstrip("/"),
        ]
        done = subprocess.run(
            [pgbench() or "pgbench", *options, *server],
            env=os.environ
            | {"PGOPTIONS": " ".join(f"-c {name}={value}" for name, value in floor.PLANS.items())},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0 or not (found := re.search(r"tps = ([\d.]+)", done.stdout)):
        raise RuntimeError(f"pgbench failed: {done.stderr[-2000:]}")
    return float(found[1])
