"""A clock that tests can move: it replaces the database's `kairos.now()`, which all of Kairos uses."""

from __future__ import annotations

from datetime import datetime, timedelta

from kairos.app import Kairos
from kairos.durations import Duration, duration
from kairos.errors import ConfigError

# The comment that marks the schema of a database that was created for tests; its copies inherit it.
FOR_TESTS = "a database for tests: Clock may replace its clock"

# Whether the clock may be replaced: it is already, or the database was created for tests, or it is empty.
_MAY_INSTALL = """
select to_regclass('{schema}.clock') is not null
  or exists (select from pg_namespace n where obj_description(n.oid, 'pg_namespace') = $1)
  or not (
    exists (select from {schema}.gen_durable)
    or exists (select from {schema}.schedules)
    or exists (select from {schema}.workers)
  )
"""

# Replaces the body of kairos.now() in a test's database; production code has no such switch.
_INSTALL = """
create table if not exists {schema}.clock (
  singleton boolean primary key default true check (singleton),
  frozen_at timestamptz,
  shift interval not null default '0'
);
insert into {schema}.clock default values on conflict do nothing;
create or replace function {schema}.now() returns timestamptz language sql stable parallel safe as $$
  select coalesce(c.frozen_at, statement_timestamp() + c.shift) from {schema}.clock c
$$;
"""

# Must equal the definition of kairos.now() in the newest migration that has one.
_UNINSTALL = """
create or replace function {schema}.now() returns timestamptz language sql stable parallel safe
  as $$ select statement_timestamp() $$;
drop table if exists {schema}.clock;
"""


class Clock:
    """The clock of a test's database. It runs on after it was moved, unless it is frozen.

    `async with Clock(app) as clock` installs it, and puts the real clock back at the end.
    """

    def __init__(self, app: Kairos) -> None:
        self._app = app
        self._schema = app.settings.schema

    async def __aenter__(self) -> Clock:
        return await self.install()

    async def __aexit__(self, *error: object) -> None:
        await self.uninstall()

    async def install(self, *, force: bool = False) -> Clock:
        """Make the database's clock movable, for every process that uses the database, until `uninstall()`.

        Refused on a database with jobs, schedules or workers that was not made by the fixtures of `kairos.testing`,
        unless `force` is true.
        """
        if not force and not await self._may_install():
            raise ConfigError(
                "This database is in use and was not made for tests: a replaced clock would stop its delays, retries "
                "and schedules; use the fixture kairos_bind or an empty database, or install(force=True)."
            )
        await self._execute(_INSTALL.format(schema=self._schema))
        return self

    async def uninstall(self) -> None:
        """Put the real clock back."""
        await self._execute(_UNINSTALL.format(schema=self._schema))

    async def _may_install(self) -> bool:
        async with self._app.store.connection() as connection:
            may: bool = await connection.fetchval(_MAY_INSTALL.format(schema=self._schema), FOR_TESTS)
            return may

    async def now(self) -> datetime:
        async with self._app.store.connection() as connection:
            at: datetime = await connection.fetchval(f"select {self._schema}.now()")
            return at

    async def freeze(self, at: datetime | None = None) -> datetime:
        """Stop the clock, at `at` or at the present time."""
        at = at or await self.now()
        await self._execute(f"update {self._schema}.clock set frozen_at = $1", at)  # noqa: S608 (a checked name)
        return at

    async def move(self, by: Duration) -> datetime:
        """Move the clock forward; a frozen clock stays frozen at the new time."""
        step: timedelta = duration(by, "by")
        await self._execute(
            f"update {self._schema}.clock set frozen_at = frozen_at + $1, shift = shift + $1",  # noqa: S608
            step,
        )
        return await self.now()

    async def _execute(self, sql: str, *params: object) -> None:
        async with self._app.store.connection() as connection:
            await connection.execute(sql, *params)
