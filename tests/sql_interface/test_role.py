"""A client role may enqueue, signal, cancel and read jobs, and nothing else; the interface follows the code."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from tests.sql_interface.actions import register, value
from tests.sql_interface.conftest import Connection
from tests.store.old_databases import ask

from kairos import Kairos, SyncKairos, operations
from kairos.serializers import redact
from kairos.store import migrate, sql_interface

FORBIDDEN = [
    "select * from kairos.gen_durable",
    "select * from kairos.machines",
    "select * from kairos.signals",
    "select * from kairos.keys",
    "insert into kairos.gen_durable (fsm, step) values ('a', 'b')",
    "delete from kairos.jobs",
    "update kairos.jobs set queue = 'a'",
    "insert into kairos.jobs (action, step) values ('a', 'b')",
    "select kairos.run_cancel_jobs('{1}', null, null)",
    "select kairos.put_signal(1, 'a', '{}', null, null)",
    "select kairos.grant_client('public')",
    "select kairos.retire_audit(1)",
    "select kairos.leave_old_ids(7)",
    "select kairos.forget_audit('1 day', 1)",
    "create table kairos.mine ()",
    "create or replace function kairos.now() returns timestamptz language sql as 'select now()'",
]


def test_the_role_may_do_nothing_else(shop: Connection) -> None:
    job = value(shop, "select kairos.enqueue('order')")
    allowed = []
    for sql in FORBIDDEN:
        try:
            shop.execute(sql.encode())
        except psycopg.errors.InsufficientPrivilege:
            continue
        allowed.append(sql)
    assert allowed == []
    assert value(shop, "select count(*) from kairos.jobs where id = %s", job) == 1


def test_no_other_function_runs_with_the_rights_of_the_owner_for_it(shop: Connection) -> None:
    found = shop.execute(
        """select p.proname from pg_proc p
           where p.pronamespace = 'kairos'::regnamespace and p.prosecdef and p.prorettype <> 'trigger'::regtype
             and has_function_privilege(p.oid, 'execute')
           order by 1"""
    )
    assert [name for (name,) in found] == ["cancel", "enqueue", "signal", "signal"]


def test_without_the_grant_a_role_has_no_access(shop: Connection, database: str, role: str) -> None:
    ask(database, f'drop owned by "{role}"')
    for sql in ("select kairos.enqueue('order')", "select * from kairos.jobs"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            shop.execute(sql.encode())


def test_a_search_path_of_the_caller_changes_nothing(shop: Connection, database: str, role: str) -> None:
    ask(database, f'create schema if not exists "evil"; grant all on schema evil to "{role}"')
    shop.execute(
        "create function evil.format(text, variadic text[]) returns text language sql as 'select 1/0 || $1'"
    )
    shop.execute("create temp table gen_durable (id int)")
    shop.execute("set search_path = evil, pg_temp, pg_catalog")
    assert value(shop, "select kairos.enqueue('send', '{\"user_id\": 1}', unique_key => 'a')") > 0
    with pytest.raises(psycopg.Error, match="argument 'user_id' is missing"):
        shop.execute("select kairos.enqueue('send')")
    ask(database, "drop schema evil cascade")


async def test_the_view_shows_a_job_as_the_service_does_without_redacted_values(
    app: Kairos, shop: Connection
) -> None:
    given = {"token": "tok_1", "card": [{"number": "4242", "name": "A"}, {"number": {"a": 1}}]}
    job = await app.action("charge").enqueue(**given)
    row = shop.execute(
        "select action, version, state, queue, input, created_at from kairos.jobs where id = %s", [job.id]
    ).fetchone()
    assert row == ("charge", 1, "pending", "default", redact(given, job.redact), job.inserted_at)
    assert "4242" not in str(row)
    assert "tok_1" not in value(shop, "select jobs::text from kairos.jobs where id = %s", job.id)


async def test_a_rule_of_redaction_that_came_later_hides_what_was_stored_before(
    app: Kairos, shop: Connection, database: str
) -> None:
    job = await app.action("send").enqueue(user_id=1, template="secret")
    ask(database, "update kairos.machines set redact = '{template}' where name = 'send'")
    shown = value(shop, "select input from kairos.jobs where id = %s", job.id)
    assert shown == {"user_id": 1, "template": "[redacted]"}


async def test_everything_works_in_a_schema_of_another_name(
    kairos_admin: Any, database: str, role: str
) -> None:
    ask(database, "drop schema if exists other cascade")
    app = Kairos(database, schema="other")
    await app.migrate()
    async with app:
        register(app)
        await app.run(operations.register(app.registry))
        ask(database, f"select other.grant_client('{role}')")
        with psycopg.connect(
            database.replace("://kairos@", f"://{role.replace(' ', '%20')}@"), autocommit=True
        ) as shop:
            job = value(shop, "select other.enqueue('order', unique_key => 'a')")
            assert value(shop, "select other.signal('a', 'paid')") == "delivered"
            assert value(shop, "select state from other.jobs where id = %s", job) == "pending"
            assert value(shop, "select other.cancel(%s)", job) == "cancelled"
        assert (await app.get(job)).state == "cancelled"
    ask(database, "drop schema other cascade")


def test_the_runtime_role_may_use_the_interface(kairos_admin: Any, database: str, role: str) -> None:
    ask(database, f'drop owned by "{role}"')
    SyncKairos(database, runtime_role=role).migrate()
    url = database.replace("://kairos@", f"://{role.replace(' ', '%20')}@")
    assert ask(url, "select count(*) from kairos.jobs") == [(0,)]
    with pytest.raises(psycopg.Error, match="No action is called 'a'"):
        ask(url, "select kairos.enqueue('a')")
    ask(database, "delete from kairos.runtime_roles")


def test_an_interface_that_differs_is_replaced_and_keeps_its_grants(shop: Connection, database: str) -> None:
    assert SyncKairos(database).migrate() == []
    ask(database, "comment on function kairos.enqueue is 'schema version 40, checksum 0'")
    assert SyncKairos(database).migrate() == [migrate.INTERFACE]
    assert value(shop, "select kairos.enqueue('order')") > 0


def test_an_interface_of_a_newer_release_is_left_alone(database: str) -> None:
    ask(database, "comment on function kairos.enqueue is 'schema version 9999, checksum 0'")
    assert SyncKairos(database).migrate() == []
    ask(database, sql_interface.record("kairos"))
