"""Bring a schema up to date step by step, and refuse to work where code and schema do not fit.

Progress is in the database: `migration_steps` has each step that was applied, with the checksum of its text. A version
appears in `migrations`, where code looks for it, only when everything that the code needs is applied. So after an
interrupted migration, code of the version before still starts.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, TypeAlias

import asyncpg
import psycopg

from kairos.config import Settings
from kairos.errors import MigrationBlocked
from kairos.fsm.guard import guard_sql
from kairos.store import migration_statements as statements
from kairos.store import runtime_role, sql_interface
from kairos.store.migration_files import Migration, Step, checksum, migrations, wanted_version
from kairos.store.migration_runner import (
    AsyncRunner,
    Atomic,
    Effect,
    Fetch,
    KeepMutex,
    OutsideTransaction,
    SyncRunner,
    TryMutex,
)
from kairos.store.query import Pause, Returned, advance, drive, drive_sync, in_schema
from kairos.store.schema_state import State, inspect, refuse_edited, refuse_newer
from kairos.store.sql_quoting import literal

_MUTEX_PAUSE = 0.2
# The pauses in seconds between attempts that other transactions blocked.
PAUSES: tuple[float, ...] = (0.5, 1, 2, 4, 5, 5, 5, 5, 5, 5)

GUARD = "guard"
INTERFACE = "sql_interface"


class _Run:
    """One run of `migrate`: what the settings ask for, and what was applied so far."""

    def __init__(self, settings: Settings) -> None:
        self.schema = settings.schema
        self.audit_retention = settings.audit_retention
        self.role = settings.runtime_role
        self.inbox = {"inbox_signals": settings.inbox_signals, "inbox_bytes": settings.inbox_bytes}
        self.applied: list[str] = []


async def migrate(connect: Callable[[], Awaitable[asyncpg.Connection]], settings: Settings) -> list[str]:
    """Bring the schema up to date; return the names of the applied migrations."""
    runner = AsyncRunner(connect)
    try:
        return await drive(_program(_Run(settings)), runner.run)
    finally:
        await runner.close()


def migrate_sync(connect: Callable[[], psycopg.Connection[Any]], settings: Settings) -> list[str]:
    """`migrate` over psycopg; connections must be in autocommit mode."""
    runner = SyncRunner(connect)
    try:
        return drive_sync(_program(_Run(settings)), runner.run)
    finally:
        runner.close()


# The steps of a migration as generators that yield effects; a runner executes the effects.

_Script: TypeAlias = Generator[Effect, Any, Any]


def _program(run: _Run) -> Generator[Effect, Any, list[str]]:
    if run.role and (reason := (yield Fetch(runtime_role.refusal(run.role)))):
        runtime_role.refuse(run.role, reason)
    known = migrations(run.schema)
    found: State = yield from _inspect(run.schema)
    refuse_newer(found)
    refuse_edited(found, known)
    if not (yield from _is_needed(run, known, found)):
        return []
    while not (yield TryMutex()):
        yield Pause(_MUTEX_PAUSE)
    yield from _atomic(run, statements.bookkeeping(run.schema))
    found = yield from _inspect(run.schema)  # another process may have migrated meanwhile
    refuse_newer(found)
    yield from _record_older_steps(run, known, found)
    pending = [each for each in known if _is_pending(found, each)]
    while True:
        if all(each.optional for each in pending):
            yield from _finish(run, [each for each in known if each not in pending])
        if not pending:
            break
        migration = pending.pop(0)
        for step in migration.steps:
            if (migration.version, step.number) not in found.steps:
                yield from _apply(run, migration, step)
        run.applied.append(migration.name)
    yield from _set_audit_retention(run)
    yield from _set_inbox_limits(run)
    return run.applied


def _is_needed(run: _Run, known: Sequence[Migration], found: State) -> Generator[Effect, Any, bool]:
    if any(each.version not in found.versions or _has_unrecorded_steps(found, each) for each in known):
        return True
    if _wants_guard(found) or sql_interface.is_wanted(found.interface):
        return True
    if run.role is not None and run.role not in found.roles:
        return True
    return (yield from _audit_differs(run)) or bool((yield from _inbox_differs(run)))


def _record_older_steps(run: _Run, known: Sequence[Migration], found: State) -> _Script:
    """Record the steps of migrations that were applied before migrations had steps."""
    rows = [
        statements.record(run.schema, each, step)
        for each in known
        if each.version in found.versions and _has_unrecorded_steps(found, each)
        for step in each.steps
        if (each.version, step.number) not in found.steps
    ]
    if rows:
        yield from _atomic(run, *rows)


def _is_pending(found: State, migration: Migration) -> bool:
    return migration.version not in found.versions and _has_unrecorded_steps(found, migration)


def _has_unrecorded_steps(found: State, migration: Migration) -> bool:
    return any((migration.version, step.number) not in found.steps for step in migration.steps)


def _apply(run: _Run, migration: Migration, step: Step) -> _Script:
    yield KeepMutex()
    recorded = statements.record(run.schema, migration, step)
    if not step.outside:
        yield from _atomic(run, step.sql, recorded)
        return
    yield from _with_retries(run, lambda: _concurrently(run.schema, step), statements.oldest_transaction())
    yield from _atomic(run, recorded)


def _concurrently(schema: str, step: Step) -> Generator[Effect, Any, BaseException | None]:
    """Build or drop an index; drop an invalid one, which an interrupted build left, first."""
    if step.builds is not None:
        index = f"{schema}.{step.builds}"
        valid = yield Fetch(f"select indisvalid from pg_index where indexrelid = to_regclass('{index}')")  # noqa: S608 (our own names)
        if valid:
            return None  # built already; the process was interrupted before it recorded that
        if valid is False and (
            held_up := (yield OutsideTransaction(f"drop index concurrently if exists {index}"))
        ):
            return held_up  # type: ignore[no-any-return]
    return (yield OutsideTransaction(step.sql))  # type: ignore[no-any-return]


def _finish(run: _Run, applied: Sequence[Migration]) -> _Script:
    """Bring guard, SQL interface and grants up to date, then record the versions, which code checks when it starts."""
    found: State = yield from _inspect(run.schema)
    if _wants_guard(found):
        yield from _atomic(run, in_schema(guard_sql(), run.schema), statements.record_guard(run.schema))
        run.applied.append(GUARD)
    if sql_interface.is_wanted(found.interface):
        sql = in_schema(sql_interface.interface_sql(), run.schema)
        yield from _atomic(run, sql, sql_interface.record(run.schema))
        run.applied.append(INTERFACE)
    for role in sorted(found.roles | ({run.role} if run.role else set())):
        yield from _atomic(run, *runtime_role.grant(role, run.schema))
    rows = [
        f"({each.version}, {literal(each.name)})" for each in applied if each.version not in found.versions
    ]
    if rows:
        insert = f"insert into {run.schema}.migrations (version, name) values"
        yield from _atomic(run, f"{insert} {', '.join(rows)} on conflict do nothing")


def _wants_guard(found: State) -> bool:
    """Whether the guard in the database differs from this code's and is not from a newer release."""
    return found.guard != checksum(guard_sql()) and found.guard_version <= wanted_version()


def _audit_differs(run: _Run) -> Generator[Effect, Any, bool]:
    if run.audit_retention is None:
        return False
    kept = yield Fetch(f"select extract(epoch from {run.schema}.audit_retention())::bigint")  # noqa: S608 (a checked name)
    return bool(kept != int(run.audit_retention.total_seconds()))


def _set_audit_retention(run: _Run) -> _Script:
    if run.audit_retention is not None and (yield from _audit_differs(run)):
        yield from _atomic(
            run, statements.set_audit_retention(run.schema, int(run.audit_retention.total_seconds()))
        )


def _inbox_differs(run: _Run) -> Generator[Effect, Any, dict[str, int]]:
    """Return the given inbox limits that differ from those in the database."""
    differ: dict[str, int] = {}
    for name, value in run.inbox.items():
        if value is not None and (yield Fetch(f"select {run.schema}.{name}()")) != value:
            differ |= {name: value}
    return differ


def _set_inbox_limits(run: _Run) -> _Script:
    for name, value in (yield from _inbox_differs(run)).items():
        yield from _atomic(run, statements.set_inbox_quota(run.schema, name, value))


def _atomic(run: _Run, *sql: str) -> _Script:
    def once() -> Generator[Effect, Any, BaseException | None]:
        return (yield Atomic(sql))  # type: ignore[no-any-return]

    yield from _with_retries(run, once, statements.blocker(run.schema))


def _with_retries(
    run: _Run, work: Callable[[], Generator[Effect, Any, BaseException | None]], blocker: str
) -> _Script:
    """Retry while other transactions block the step; at last raise an error that names the oldest of them."""
    for pause in (*PAUSES, None):
        held_up = yield from work()
        if held_up is None:
            return
        if pause is None:
            raise _blocked(run.applied, (yield Fetch(blocker))) from held_up
        yield Pause(pause)


def _inspect(schema: str) -> Generator[Effect, Any, State]:
    reading = inspect(schema)
    answer = None
    while not isinstance(sql := advance(reading, answer), Returned):
        answer = yield Fetch(sql)
    return sql.value


def _blocked(applied: Sequence[str], holder: str | None) -> MigrationBlocked:
    done = f"after {applied[-1]}" if applied else "and no migration was completed"
    if holder is None:
        return MigrationBlocked(
            f"The migration stopped, {done}: another transaction kept its tables locked; look for it in "
            "pg_stat_activity, end it, and run `kairos migrate` again."
        )
    pid, who, state, seconds, where = json.loads(holder)
    age = "for an unknown time" if seconds is None else f"for {seconds} s"
    return MigrationBlocked(
        f"The migration stopped, {done}: other transactions kept its tables locked. The oldest is pid "
        f"{pid} ({who}, {state}), {where}, open {age}; let it end, or end it with "
        f"`select pg_terminate_backend({pid})`, and run `kairos migrate` again."
    )
