"""`kairos.enqueue`: from SQL, jobs are accepted and refused as they are from Python."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from tests.sql_interface.actions import value
from tests.sql_interface.conftest import Connection
from tests.store.old_databases import ask

from kairos import Backoff, Kairos
from kairos.testing import drain

WHOLE = """
select kairos.enqueue(
  'send', '{"user_id": 7, "language": "de", "to": [{"city": "Bonn", "zip": 1}]}', queue => 'letters', priority => -2,
  run_at => '2040-01-02 03:04:05.678901+00', ttl => '2 hours', key => 'user:7', ordered => true,
  unique_key => 'welcome:7', unique_scope => 'ever', tags => '{a,"b c"}', retry => '{"attempts": 3, "base": 10}')
"""


async def test_a_job_from_sql_is_the_job_that_python_would_have_made(app: Kairos, shop: Connection) -> None:
    made = await app.get(value(shop, WHOLE))
    twin = (
        await app.action("send")
        .options(
            queue="letters",
            priority=-2,
            run_at=datetime(2040, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
            ttl="2h",
            key="user:7",
            ordered=True,
            unique="welcome:8",
            unique_scope="ever",
            tags=["a", "b c"],
            retry=Backoff(attempts=3, base=10),
        )
        .enqueue(user_id=7, language="de", to=[{"city": "Bonn", "zip": 1}])
    )
    twin = await app.get(twin.id)
    differ = {
        name
        for name in ("unique", "created_by", "inserted_at", "id")
        if getattr(made, name) != getattr(twin, name)
    }
    assert differ == {"unique", "created_by", "inserted_at", "id"}
    for name in differ:
        setattr(twin, name, getattr(made, name))
    assert made == twin
    assert made.created_by is not None
    assert made.created_by.startswith("sql Shop ")


async def test_a_worker_runs_it_at_once_and_only_after_the_commit(app: Kairos, shop: Connection) -> None:
    async with app.worker(queues=["mail"], poll=60):
        with shop.transaction():
            job = value(shop, "select kairos.enqueue('send', '{\"user_id\": 7}')")
            await asyncio.sleep(0.05)
        assert await app.result(job, timeout=30) == {"sent": 7}


async def test_a_transaction_that_is_rolled_back_leaves_no_job(app: Kairos, shop: Connection) -> None:
    with pytest.raises(ZeroDivisionError), shop.transaction():
        job = value(shop, "select kairos.enqueue('send', '{\"user_id\": 7}')")
        _ = 1 / 0
    assert shop.execute("select id from kairos.jobs where id = %s", [job]).fetchall() == []


async def test_options_that_are_left_out_are_those_of_the_action(app: Kairos, shop: Connection) -> None:
    usual = await app.get(value(shop, "select kairos.enqueue('usual')"))
    assert (usual.priority, usual.tags, usual.unique) == (-3, ("usual",), "only")
    assert usual.run_at is not None
    assert usual.inserted_at is not None
    assert usual.run_at - usual.inserted_at == timedelta(seconds=90)
    sent = await app.get(value(shop, "select kairos.enqueue('send', '{\"user_id\": 7}')"))
    assert sent.run_at is not None
    assert (sent.queue, sent.expires_at) == ("mail", sent.run_at + timedelta(hours=1))


async def test_a_taken_unique_key_is_refused_with_its_holder_or_answered_with_it(shop: Connection) -> None:
    first = value(shop, "select kairos.enqueue('usual')")
    with pytest.raises(
        psycopg.Error, match=f"Job {first} holds the unique key 'only' and is scheduled"
    ) as error:
        shop.execute("select kairos.enqueue('usual')")
    assert (error.value.sqlstate, error.value.diag.message_detail) == ("KA409", str(first))
    assert value(shop, "select kairos.enqueue('usual', if_taken => 'return')") == first


async def test_of_many_transactions_that_want_one_unique_key_one_gets_it(shop: Connection) -> None:
    def enqueue() -> str:
        with psycopg.connect(shop.info.dsn, autocommit=True) as connection:
            try:
                value(connection, "select kairos.enqueue('send', '{\"user_id\": 1}', unique_key => 'one')")
            except psycopg.Error as error:
                return str(error.sqlstate)
        return "new"

    answers = await asyncio.gather(*(asyncio.to_thread(enqueue) for _ in range(8)))
    assert sorted(answers) == [*["KA409"] * 7, "new"]


async def test_jobs_of_a_key_stand_in_its_line(app: Kairos, shop: Connection, database: str) -> None:
    for _ in range(2):
        shop.execute("select kairos.enqueue('sync', '{\"account\": \"a\"}', key => 'account:a')")
    assert ask(database, "select held, search from kairos.gen_durable order by id") == [
        (False, ["account:a"]),
        (True, ["account:a"]),
    ]
    assert await drain(app) == 2


async def test_a_trigger_enqueues_a_job_in_the_transaction_of_its_row(
    app: Kairos, shop: Connection, database: str, role: str
) -> None:
    ask(
        database,
        f"""create schema if not exists shop; drop table if exists shop.users;
            create table shop.users (id int primary key);
            create or replace function shop.welcome() returns trigger language plpgsql as $$
            begin
              perform kairos.enqueue('send', jsonb_build_object('user_id', new.id));
              return new;
            end $$;
            create trigger welcome after insert on shop.users for each row execute function shop.welcome();
            grant usage on schema shop to "{role}"; grant insert on shop.users to "{role}" """,
    )
    shop.execute("insert into shop.users values (1), (2)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        shop.execute("insert into shop.users values (3), (1)")
    assert shop.execute("select input -> 'user_id' from kairos.jobs order by id").fetchall() == [(1,), (2,)]
    ask(database, "drop schema shop cascade")


async def test_what_sql_cannot_check_fails_by_name_at_the_first_pick(app: Kairos, shop: Connection) -> None:
    job = value(shop, """select kairos.enqueue('send', '{"user_id": 7, "on": "soon", "times": 0}')""")
    await drain(app)
    failed = await app.get(job)
    assert (failed.state, failed.attempt) == ("failed", 0)
    assert failed.error is not None
    assert "on" in failed.error
    assert "times" in failed.error


@pytest.mark.parametrize("style", ["SQL, DMY", "German", "Postgres, MDY"])
async def test_the_date_style_of_a_session_changes_nothing(app: Kairos, shop: Connection, style: str) -> None:
    shop.execute(f"set datestyle = '{style}'".encode())
    shop.execute("set timezone = 'Asia/Kolkata'")
    made = await app.get(value(shop, WHOLE))
    assert made.run_at == datetime(2040, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


# The arguments of kairos.enqueue, the field that the error names, and its sentence.
REFUSED: dict[str, tuple[str, str, str]] = {
    "null": ("KA404", "action", "No action is called NULL"),
    "'sendd'": ("KA404", "action", "No action is called 'sendd'"),
    "'kairos.webhook'": ("KA422", "action", "internal action of Kairos"),
    "'send', null": ("KA422", "input", "must be a JSON object"),
    "'send', '[1]'": ("KA422", "input", "must be a JSON object"),
    "'send', '{}'": ("KA422", "user_id", "send: argument 'user_id' is missing."),
    "'send', '{\"user_id\": \"7\"}'": (
        "KA422",
        "user_id",
        "is of the type string; it must be of the type integer",
    ),
    "'send', '{\"user_id\": 7.5}'": ("KA422", "user_id", "it must be of the type integer"),
    "'send', '{\"user_id\": null}'": ("KA422", "user_id", "is of the type null"),
    "'send', '{\"user_id\": 1, \"usr\": 2}'": ("KA422", "usr", "send: argument 'usr' is unknown."),
    '\'send\', \'{"user_id": 1, "language": "fr"}\'': ("KA422", "language", "must be one of"),
    '\'send\', \'{"user_id": 1, "to": [{"city": "a"}, {}]}\'': (
        "KA422",
        "to.1.city",
        "'to.1.city' is missing",
    ),
    '\'send\', \'{"user_id": 1, "to": [{"city": "a", "zip": "b"}]}\'': ("KA422", "to.0.zip", "fits none"),
    "'send', '{\"user_id\": 1, \"on\": 7}'": ("KA422", "on", "fits none of the types"),
    "'order', '{\"amount\": 1e400}'": ("KA422", "input", "a number beyond 1e308"),
    "'order', ('{\"a\":' || repeat('[', 64) || repeat(']', 64) || '}')::jsonb": (
        "KA422",
        "input",
        "64 levels",
    ),
    "'order', jsonb_build_object('a', repeat('a', 1048576))": ("KA422", "input", "the limit is 1048576"),
    "'order', queue => ''": ("KA422", "queue", "queue is empty"),
    "'order', queue => 'kairos'": ("KA422", "queue", "for Kairos' own jobs"),
    "'order', queue => E'a\\nb'": ("KA422", "queue", "control character"),
    "'order', priority => 40000": ("KA422", "priority", "from -32768 to 32767"),
    "'order', run_at => 'infinity'": ("KA422", "run_at", "years 2 to 9998"),
    "'order', run_at => now(), delay => '1 s'": ("KA422", "run_at", "say the same thing twice"),
    "'order', delay => '-1 s'": ("KA422", "delay", "cannot be negative"),
    "'order', delay => '200 years'": ("KA422", "delay", "more than a hundred years"),
    "'order', ttl => '-1 s'": ("KA422", "ttl", "cannot be negative"),
    "'order', ttl => '1 s', expires_at => now()": ("KA422", "ttl", "say the same thing twice"),
    "'order', run_at => '9998-12-31', ttl => '3 days'": ("KA422", "ttl", "ends after the year 9998"),
    "'order', expires_at => '-infinity'": ("KA422", "expires_at", "years 2 to 9998"),
    "'order', key => repeat('a', 256)": ("KA422", "key", "has 256 characters"),
    "'sync', '{\"account\": \"a\"}'": (
        "KA422",
        "key",
        "computed by its code, which SQL cannot run: give a key",
    ),
    "'order', ordered => true": ("KA422", "ordered", "give a key too"),
    "'order', unique_key => ''": ("KA422", "unique_key", "unique_key is empty"),
    "'order', unique_key => 'kairos.x'": ("KA422", "unique_key", "choose another"),
    "'order', unique_key => 'a', unique_scope => 'often'": (
        "KA422",
        "unique_scope",
        "one of queued, live, ever",
    ),
    "'order', unique_key => 'a', if_taken => 'fight'": ("KA422", "if_taken", "raise or return"),
    "'order', tags => '{a,null}'": ("KA422", "tags", "none of them null"),
    "'order', tags => array['']": ("KA422", "tags", "tags is empty"),
    "'order', tags => array_fill('a'::text, '{101}')": ("KA422", "tags", "at most 100"),
    "'order', retry => '5'": ("KA422", "retry", "must be a JSON object with attempts"),
    "'order', retry => '{\"attempts\": 0}'": (
        "KA422",
        "retry",
        "retry.attempts must be a whole number from 1",
    ),
    '\'order\', retry => \'{"attempts": 2, "base": "1s"}\'': (
        "KA422",
        "retry",
        "lengths of time are in seconds",
    ),
    "'order', retry => '{\"attempts\": 2, \"jitter\": 2}'": ("KA422", "retry", "give 0 to 1"),
    "'order', retry => '{\"attempts\": 2, \"factor\": 0}'": ("KA422", "retry", "at least 1"),
    "'order', retry => '{\"attempts\": 2, \"cap\": -1}'": ("KA422", "retry", "from 0 seconds"),
    "'order', retry => '{\"attempts\": 2, \"tries\": 1}'": ("KA422", "retry", "has no member 'tries'"),
}


async def test_each_wrong_argument_is_refused_in_one_sentence_that_names_the_field(
    shop: Connection, database: str
) -> None:
    said: dict[str, Any] = {}
    for arguments, (code, field, sentence) in REFUSED.items():
        with pytest.raises(psycopg.Error) as error:
            shop.execute(f"select kairos.enqueue({arguments})".encode())
        found = error.value
        if (found.sqlstate, found.diag.column_name) != (code, field) or sentence not in str(found):
            said[arguments] = found.sqlstate, found.diag.column_name, found.diag.message_primary
    assert said == {}
    assert ask(database, "select count(*) from kairos.gen_durable") == [(0,)]


async def test_sql_makes_no_more_queues_than_the_service_does(shop: Connection, database: str) -> None:
    ask(database, "insert into kairos.queues (name) select 'q' || n from generate_series(1, 999) n")
    with pytest.raises(psycopg.Error, match="SQL makes 1000 at most: use one of them in place of 'new'"):
        shop.execute("select kairos.enqueue('order', queue => 'new')")
    assert value(shop, "select kairos.enqueue('order', queue => 'q7')") > 0
