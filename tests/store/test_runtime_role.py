"""A role of its own for workers and the service: all they do, and nothing that rewrites the record."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.engine_statements import Rig
from tests.store.old_databases import ask, files
from tests.worker.world import until

from kairos import Await, Backoff, Context, Done, Kairos, SyncKairos, step
from kairos.errors import ConfigError, JobFailed, NotFound
from kairos.store import migration_files
from kairos.store.query import Query, statements
from kairos.worker.blocking_sessions import end_frozen, find_blockers

SQL = statements("kairos")
Connection = psycopg.Connection[Any]


@pytest.fixture
def role(kairos_admin: Any, kairos_database: str) -> Iterator[str]:
    """A role that may log in and owns nothing."""
    name = f"Runtime {uuid4().hex[:8]}"  # with a space and a capital: it has to be quoted
    kairos_admin.execute(f'create role "{name}" login'.encode())
    yield name
    ask(kairos_database, f'drop owned by "{name}"')
    kairos_admin.execute(f'drop role "{name}"'.encode())


@pytest.fixture
def url(kairos_database: str, role: str) -> str:
    """The URL of a migrated database, as the runtime role."""
    assert SyncKairos(kairos_database, runtime_role=role).migrate() == []
    return kairos_database.replace("://kairos@", f"://{role.replace(' ', '%20')}@")


@pytest.fixture
def runtime(url: str) -> Iterator[Connection]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


FORBIDDEN = {
    "create table kairos.mine ()": "42501",
    "alter table kairos.gen_durable disable trigger all": "42501",
    "drop trigger gen_durable_guard on kairos.gen_durable": "42501",
    "create or replace function kairos.refuse_transition() returns trigger language sql as ''": "42501",
    "set session_replication_role = replica": "42501",
    "truncate kairos.gen_durable cascade": "42501",
    "truncate kairos.history": "42501",
    "update kairos.gen_durable set lease = lease - 1 where status = 'executing'": "KA409",
    "delete from kairos.gen_durable where completed_at is null": "KA409",
    "delete from kairos.history": "42501",
    "update kairos.history set reason = 'no'": "42501",
    "delete from kairos.logs": "42501",
    "update kairos.logs set line = 'no'": "42501",
    "delete from kairos.audit": "42501",
    "update kairos.ticks set reason = 'no'": "KA403",
    "update kairos.keys set revoked_at = null": "KA403",
    "update kairos.keys set revoked_at = now()": "KA403",
    "update kairos.keys set scopes = '{admin}'": "42501",
    "update kairos.keys set secret_hash = secret_hash": "42501",
    "update kairos.keys set expires_at = null": "42501",
    "delete from kairos.keys": "42501",
    "delete from kairos.machines": "42501",
    "update kairos.migrations set version = 0": "42501",
    "delete from kairos.migration_steps": "42501",
    "delete from kairos.guards": "42501",
    "insert into kairos.runtime_roles values ('x')": "42501",
    "select setval('kairos.history_id_seq', 1)": "42501",
}


# What is refused by a trigger also where one role owns and runs everything.
RECORDS = {
    "truncate kairos.gen_durable cascade": "KA409",
    "update kairos.gen_durable set lease = lease - 1 where status = 'executing'": "KA409",
    "delete from kairos.gen_durable where completed_at is null": "KA409",
    "truncate kairos.history": "KA403",
    "delete from kairos.history": "KA403",
    "update kairos.history set reason = 'no'": "KA403",
    "delete from kairos.logs": "KA403",
    "delete from kairos.audit": "KA403",
    "update kairos.keys set revoked_at = null": "KA403",
    "update kairos.keys set scopes = '{admin}'": "KA403",
    "update kairos.keys set secret_hash = sha256('other')": "KA403",
    "update kairos.keys set expires_at = now()": "KA403",
    "delete from kairos.keys": "KA403",
    "truncate kairos.keys cascade": "KA403",
}


async def test_what_would_rewrite_the_record_is_refused_to_the_runtime_role(
    url: str, runtime: Connection
) -> None:
    live(runtime)
    refused = {}
    for sql in FORBIDDEN:
        with pytest.raises(psycopg.Error) as error:
            runtime.execute(sql.encode())
        refused[sql] = error.value.sqlstate
    assert refused == FORBIDDEN


def test_not_even_the_owner_rewrites_the_record_by_mistake(kairos_database: str) -> None:
    refused = {}
    with psycopg.connect(kairos_database, autocommit=True) as owner:
        live(owner)
        for sql in RECORDS:
            with pytest.raises(psycopg.Error) as error:
                owner.execute(sql.encode())
            refused[sql] = error.value.sqlstate
    assert refused == RECORDS


def live(connection: Connection) -> None:
    """A job that runs, with history, and a key that was revoked."""
    connection.execute(
        """with job as (
             insert into kairos.gen_durable (fsm, step, eligible_at, inserted_at, updated_at)
             values ('a', 's', now(), now(), now()) returning id
           )
           insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, at)
           select id, 'pick', 'pending', 'running', 's', 0, now() from job"""
    )
    connection.execute(
        """update kairos.gen_durable set status = 'executing', lease = lease + 2, locked_by = 'w',
             lease_expires_at = now() + interval '1 hour', started_at = now()"""
    )
    connection.execute(
        """insert into kairos.keys (id, name, secret_hash, scopes, created_at, revoked_at)
           values ('k', 'k', sha256('s'), '{read}', now(), now() - interval '1 day')"""
    )


def test_the_history_of_an_ended_job_leaves_with_it_and_not_before(kairos_database: str) -> None:
    with psycopg.connect(kairos_database, autocommit=True) as connection:
        live(connection)
        connection.execute(
            """update kairos.gen_durable set status = 'done', completed_at = now(), locked_by = null,
                 lease_expires_at = null"""
        )
        with pytest.raises(psycopg.Error, match="its rows leave with their job"):
            connection.execute("delete from kairos.history")
        connection.execute("delete from kairos.gen_durable")
        assert connection.execute("select count(*) from kairos.history").fetchone() == (0,)


def test_every_statement_may_be_run_by_the_runtime_role(runtime: Connection) -> None:
    """Postgres checks the privileges of a statement before it explains it."""
    refused = {}
    for name, sql in SQL.items():
        runtime.execute(f"prepare stated as {sql}".encode())
        found = runtime.execute(
            "select cardinality(parameter_types) from pg_prepared_statements where name = 'stated'"
        ).fetchone()
        nulls = ", ".join(["null"] * (found[0] if found else 0))
        try:
            runtime.execute(f"explain execute stated{f'({nulls})' if nulls else ''}".encode())
        except psycopg.errors.InsufficientPrivilege as error:
            refused[name] = str(error)
        runtime.execute("deallocate stated")
    assert refused == {}


async def test_a_worker_a_client_and_retention_run_as_the_runtime_role(url: str, role: str) -> None:
    app = Kairos(url)
    failures = []

    @app.machine("order")
    class Order:
        @step
        async def pay(self, ctx: Context) -> Any:
            if ctx.take("paid") is None:
                ctx.log.info("waiting")
                return Await("paid")
            return Done(1)

    @app.job(retry=Backoff(attempts=2, base=0.01))
    async def fail() -> None:
        failures.append(1)
        raise ValueError("no")

    @app.job
    async def act(ctx: Context) -> str:
        async with ctx.transaction() as connection:
            return str(await connection.fetchval("select current_user"))

    async with app:
        await app.limit("limited", concurrency=1, rate=(100, "1s"))
        await app.schedules.add("often", "every second", act.call())
        async with app.worker(queues=["default", "limited"], poll=0.1, retention=0):
            order = await app.action("order").options(key="k", unique="u").enqueue()
            failing = await fail.enqueue()
            acting = await act.options(queue="limited").enqueue()
            later = await act.options(delay="1h").enqueue()
            assert await app.signal(order.id, "paid", {}) in ("delivered", "woke")
            assert await app.result(order.id, timeout=60) == 1
            assert await app.result(acting.id, timeout=60) == role
            with pytest.raises(JobFailed):
                await app.result(failing.id, timeout=60)
            await app.cancel(later.id)
            assert {row.line for row in await app.logs(order.id)} <= {"waiting"}
            while not [each for each in await app.schedules.ticks("often") if each.job_id]:
                await asyncio.sleep(0.05)
        await app.schedules.remove("often")
        for query in (
            ("purge_jobs", timedelta(0), 100, None),
            ("purge_ticks", timedelta(0), 100),
            ("purge_expired_audit", 100),
        ):
            await app.store.run(Query(query[0], query[1:]))
        with pytest.raises(NotFound):
            await app.get(order.id)
    assert len(failures) == 2


def test_a_later_migration_grants_its_tables_to_the_roles_there_are(
    url: str, kairos_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = "create table kairos.later (id int)"
    monkeypatch.setattr(migration_files, "FOLDER", files(tmp_path, m9999_later=later))
    SyncKairos(kairos_database).migrate()
    assert ask(url, "insert into kairos.later values (1) returning id") == [(1,)]


def test_a_role_that_was_dropped_and_made_again_is_granted_again(
    kairos_database: str, kairos_admin: Any, role: str, url: str
) -> None:
    ask(kairos_database, f'drop owned by "{role}"')
    kairos_admin.execute(f'drop role "{role}"'.encode())
    kairos_admin.execute(f'create role "{role}" login'.encode())
    SyncKairos(kairos_database, runtime_role=role).migrate()
    assert ask(url, "select count(*) from kairos.gen_durable") == [(0,)]


def test_a_role_that_would_protect_nothing_is_refused(
    kairos_database: str, kairos_admin: Any, role: str
) -> None:
    kairos_admin.execute(f'grant kairos to "{role}"'.encode())
    for name, reason in (
        ("nobody", "does not exist"),
        ("kairos", "is a superuser"),
        (role, "belongs to the role"),
    ):
        with pytest.raises(ConfigError, match=reason):
            SyncKairos(kairos_database, runtime_role=name).migrate()


@pytest.mark.parametrize("wrong", ["", "a\0b"])
def test_a_runtime_role_that_cannot_be_a_name_is_refused(kairos_database: str, wrong: str) -> None:
    with pytest.raises(ConfigError, match="runtime_role"):
        SyncKairos(kairos_database, runtime_role=wrong)


@pytest.fixture
def login(kairos_admin: Any, url: str, role: str) -> Iterator[str]:
    """The URL for a role that has no rights of its own and works as the runtime role."""
    name = f"login_{uuid4().hex[:8]}"
    kairos_admin.execute(f'create role {name} login noinherit in role "{role}"'.encode())
    kairos_admin.execute(f'alter role {name} set role = "{role}"'.encode())
    yield re.sub("//.*?@", f"//{name}@", url)
    kairos_admin.execute(f"drop role {name}".encode())


LOCKS_A_JOB = "begin; select from kairos.gen_durable for update"


@pytest.mark.parametrize("statement", ["end_frozen_sessions", "end_sessions", "end_step_sessions"])
async def test_sessions_are_ended_by_a_role_that_works_as_another(
    kairos_admin: Any, login: str, role: str, statement: str
) -> None:
    """They are sessions of the role that logged in, and the other one may not end them, nor see what they do."""
    name = "kairos step 7:1" if "step" in statement else "kairos"
    async with Kairos(login) as app:
        job = await Rig(app.store).enqueue()
        frozen = await app.store.connect()
        assert await frozen.fetchval("select current_user") == role
        await frozen.execute(f"set application_name = '{name}'")
        await frozen.execute(f"{LOCKS_A_JOB}; select pg_advisory_xact_lock(7)")
        pid = frozen.get_server_pid()
        waits = (
            f"select 1 from pg_stat_activity where pid = {pid} and clock_timestamp() - state_change > '0.7 s'"
        )
        await until(lambda: kairos_admin.execute(waits.encode()).fetchone(), "a session that waits for long")
        if statement == "end_sessions":
            assert await end_frozen(app.store, await find_blockers(app.store, job))
        else:
            parameters = ([name],) if "step" in statement else ()
            (row,) = await app.store.run(Query(statement, parameters))
            assert (row["pid"], row["ended"]) == (pid, True)
        await until(frozen.is_closed, "the end of the session")
        async with app.store.connection() as connection:
            assert await connection.fetchval("select current_user") == role
