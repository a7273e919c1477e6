"""The actions that these tests enqueue from SQL."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

import psycopg
from pydantic import BaseModel, Field

from kairos import Await, Context, Done, Kairos, step


class Address(BaseModel):
    city: str
    zip: int | None = None


def register(app: Kairos) -> None:
    @app.job(queue="mail", ttl="1h")
    async def send(
        user_id: int,
        template: str = "plain",
        language: Literal["en", "de"] = "en",
        to: list[Address] = [],  # noqa: B006 (a default that nobody changes)
        on: date | None = None,
        times: Annotated[int, Field(ge=1)] = 1,
    ) -> dict[str, Any]:
        return {"sent": user_id}

    @app.job(priority=-3, tags=["usual"], delay="90s", unique="only", unique_scope="queued")
    async def usual() -> None: ...

    @app.job(key=lambda account: f"account:{account}", search=["account"])
    async def sync(account: str) -> None: ...

    @app.job(redact=["token", "card.number"])
    async def charge(token: str, card: dict[str, Any] | list[dict[str, Any]] | None = None) -> None: ...

    @app.machine("order")
    class Order:
        @step
        async def pay(self, ctx: Context[dict[str, Any]]) -> Any:
            found = ctx.take("paid")
            return Await("paid") if found is None else Done(found.payload)


def value(connection: psycopg.Connection[Any], sql: str, *params: Any) -> Any:
    row = connection.execute(sql.encode(), params).fetchone()
    assert row is not None
    return row[0]
