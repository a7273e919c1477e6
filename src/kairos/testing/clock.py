"""A clock that tests move: the database's own `kairos.now()`, from which everything else follows."""

from __future__ import annotations

from datetime import datetime, timedelta

from kairos.app import Kairos
from kairos.durations import Duration, duration

# Replaces the body of kairos.now() in a test's database; production code has no such switch.
_INSTALL = """
create table if not exists {schema}.clock (
  singleton boolean primary key default true check (singleton),
  frozen_at timestamptz,
  shift interval not null default '0'
);
insert into {schema}.clock default values on conflict do nothing;
create or replace function {schema}.now() returns timestamptz language sql stable parallel safe as $$
  select coalesce(c.frozen_at, pg_catalog.now() + c.shift) from {schema}.clock c
$$;
"""


class Clock:
    """The time of one test's database. Frozen, it stands until it is moved; shifted, it goes on."""

    def __init__(self, app: Kairos) -> None:
        self._app = app
        self._schema = app.settings.schema

    async def install(self) -> Clock:
        """Make the database's clock movable."""
        await self._execute(_INSTALL.format(schema=self._schema))
        return self

    async def now(self) -> datetime:
        async with self._app.store.connection() as connection:
            at: datetime = await connection.fetchval(f"select {self._schema}.now()")
            return at

    async def freeze(self, at: datetime | None = None) -> datetime:
        """Let time stand still, at `at` or where it is."""
        at = at or await self.now()
        await self._execute(f"update {self._schema}.clock set frozen_at = $1", at)  # noqa: S608 (a checked name)
        return at

    async def move(self, by: Duration) -> datetime:
        """Go forward; a frozen clock stands at the new time."""
        step: timedelta = duration(by, "by")
        await self._execute(
            f"update {self._schema}.clock set frozen_at = frozen_at + $1, shift = shift + $1",  # noqa: S608
            step,
        )
        return await self.now()

    async def _execute(self, sql: str, *params: object) -> None:
        async with self._app.store.connection() as connection:
            await connection.execute(sql, *params)
