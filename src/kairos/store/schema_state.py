"""Read which migrations a database has, and check whether this code can work on it."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

from kairos.errors import SchemaMismatch
from kairos.fsm.guard import guard_sql
from kairos.store.migration_files import Migration, checksum, migrations, wanted_version

NOT_MIGRATED = "The database has no Kairos schema yet: run `kairos migrate`."
_NO_SCHEMA = "3F000"  # the SQLSTATE of a schema that does not exist


@dataclass(frozen=True, slots=True)
class State:
    """The state of a schema.

    It has the applied versions, steps with their checksums, guards (the last one is in force) and runtime roles, and
    the comment that identifies the SQL interface.
    """

    versions: frozenset[int] = frozenset()
    steps: dict[tuple[int, int], str] = field(default_factory=dict)
    breaks_before: int = 0
    guard: str | None = None
    guard_version: int = 0
    guards: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    interface: str | None = None


def inspect(schema: str) -> Generator[str, Any, State]:
    """Read the state of the schema; yields statements that each return one value and lock nothing."""
    kept = yield (
        f"select (to_regclass('{schema}.migrations') is not null)::int"
        f" + (to_regclass('{schema}.migration_steps') is not null)::int"
    )
    if not kept:
        return State()
    versions = f"select coalesce(jsonb_agg(m.version), '[]')::text from {schema}.migrations m"  # noqa: S608 (a checked name)
    if kept == 1:  # made by code before schema version 11
        return State(frozenset(json.loads((yield versions))))
    found = json.loads((yield _state(schema)))
    guards = found["guards"]
    return State(
        frozenset(found["versions"]),
        {(version, step): checksum for version, step, checksum, _ in found["steps"]},
        max((breaks for *_, breaks in found["steps"]), default=0),
        guards[-1][0] if guards else None,
        guards[-1][1] if guards else 0,
        frozenset(checksum for checksum, _ in guards),
        frozenset(found["roles"]),
        found["interface"],
    )


def raise_if_unmigrated(error: BaseException) -> None:
    """Raise `SchemaMismatch` if a driver's error says that the schema does not exist.

    It may be the error of any driver: SQLAlchemy and Django wrap the one that has the SQLSTATE.
    """
    causes = (error, error.__cause__, getattr(error, "orig", None))
    if any(getattr(each, "sqlstate", None) == _NO_SCHEMA for each in causes):
        raise SchemaMismatch(NOT_MIGRATED) from error


def check(found: State) -> None:
    """Raise unless this code can work on a schema in that state.

    The schema may be newer if no migration removed what this code uses, and may lack optional migrations.
    """
    if not found.versions:
        raise SchemaMismatch(NOT_MIGRATED)
    refuse_newer(found)
    if any(each.version not in found.versions for each in migrations() if not each.optional):
        raise SchemaMismatch(
            f"The schema is at version {max(found.versions)} and this Kairos needs {wanted_version()}: "
            "run `kairos migrate`."
        )
    if checksum(guard_sql()) not in found.guards:
        raise SchemaMismatch(
            "The database does not have the lifecycle guard of this Kairos yet: run `kairos migrate`."
        )


def refuse_newer(found: State) -> None:
    if found.breaks_before > wanted_version():
        raise SchemaMismatch(
            f"The schema is at version {max(found.versions, default=found.breaks_before)}, newer than the "
            f"{wanted_version()} this Kairos knows, and no longer has all that it uses: upgrade Kairos."
        )


def refuse_edited(found: State, known: Iterable[Migration]) -> None:
    for migration in known:
        for step in migration.steps:
            recorded = found.steps.get((migration.version, step.number), step.checksum)
            if recorded != step.checksum:
                raise SchemaMismatch(
                    f"Migration {migration.name} was edited after its step {step.number} ({step.name}) was applied "
                    "to this database: restore the file, and make the change in a new migration."
                )


def _state(schema: str) -> str:
    return f"""
        select jsonb_build_object(
          'versions', (select coalesce(jsonb_agg(m.version), '[]') from {schema}.migrations m),
          'steps', (select coalesce(jsonb_agg(jsonb_build_array(s.version, s.step, s.checksum, s.breaks_before)), '[]')
                    from {schema}.migration_steps s),
          'guards', (select coalesce(jsonb_agg(jsonb_build_array(g.checksum, g.version) order by g.applied_at), '[]')
                     from {schema}.guards g),
          'roles', (select coalesce(jsonb_agg(r.role), '[]')
                    from {schema}.runtime_roles r join pg_roles p on p.rolname = r.role
                    where has_schema_privilege(p.oid, '{schema}', 'usage')),
          'interface', obj_description(to_regproc('{schema}.enqueue'), 'pg_proc')
        )::text"""  # noqa: S608 (a checked name)
