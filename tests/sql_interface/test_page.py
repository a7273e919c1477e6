"""The SQL of docs/learn/sql.md runs as it is printed."""

from __future__ import annotations

import re
from typing import Any

import psycopg
from tests.docs.pages import text
from tests.store.old_databases import ask

from kairos import Await, Context, Done, Kairos, operations, step
from kairos.testing import drain

BLOCKS = re.findall(r"^```sql\n(.*?)^```$", text("docs/learn/sql.md"), re.MULTILINE | re.DOTALL)


async def test_the_page_runs_as_it_is_printed(database: str) -> None:
    app, welcomed = Kairos(database), []

    @app.job
    async def send_welcome(user_id: int) -> None:
        welcomed.append(user_id)

    @app.machine("order")
    class Order:
        @step
        async def wait(self, ctx: Context[dict[str, Any]]) -> Any:
            return Await("paid") if ctx.take("paid") is None else Done()

    calls, trigger, role = BLOCKS
    async with app:
        await app.run(operations.register(app.registry))
        with psycopg.connect(database) as connection:
            connection.execute("create schema page")
            connection.execute("set search_path = page")
            for block in (calls, trigger, role):
                connection.execute(block.encode())
            connection.execute("set role shop")
            connection.execute("select kairos.enqueue('send_welcome', '{\"user_id\": 10}')")
            connection.execute("reset role")
            connection.execute("drop owned by shop; drop role shop; drop schema page cascade")
        await drain(app)
        states = ask(database, "select action, state from kairos.jobs order by id")
    assert sorted(welcomed) == [7, 9, 10]
    assert states[1:3] == [("send_welcome", "scheduled"), ("order", "cancelled")]
