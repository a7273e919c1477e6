"""The privileges of the role that workers and the service run as, where another role owns the schema.

It may do everything that a statement in sql/queries/ does, and no more: no DDL, no TRUNCATE, no change of what is
append-only. Triggers that write to other tables run with the owner's rights.
"""

from __future__ import annotations

from typing import NoReturn

from kairos.errors import ConfigError
from kairos.store.sql_quoting import identifier, literal

_ALL = "select, insert, update, delete"
# Tables that need less than `_ALL`.
_NARROWER = {
    "migrations": "select",
    "migration_steps": "select",
    "guards": "select",
    "runtime_roles": "select",
    "history": "select, insert",
    "logs": "select, insert",
    "audit": "select, insert",
    "audit_ends": "select, insert",
    "keys": "select, insert, update (last_used_at, revoked_at)",
    "machines": "select, insert, update",
    "purged": "select, insert, update",
    "forgotten": "select",
    "jobs": "select",
}

_REASONS = {
    "absent": "does not exist: create it with `create role {role} login`",
    "superuser": "is a superuser, whom no privilege limits: name another role",
    "owner": "belongs to the role that migrates, and so may change the schema: name another role",
}


def grant(role: str, schema: str) -> tuple[str, ...]:
    """Return the statements that grant the role exactly its privileges on every table, and record that."""
    name = identifier(role)
    narrower = [
        f"revoke all on {schema}.{table} from {name}; grant {privileges} on {schema}.{table} to {name}"
        for table, privileges in _NARROWER.items()
    ]
    return (
        f"revoke all on schema {schema} from {name}; grant usage on schema {schema} to {name}",
        f"revoke all on all tables in schema {schema} from {name}",
        f"revoke all on all sequences in schema {schema} from {name}",
        f"grant {_ALL} on all tables in schema {schema} to {name}",
        f"grant usage on all sequences in schema {schema} to {name}",
        *narrower,
        f"grant execute on function {schema}.retire_audit, {schema}.leave_old_ids to {name}",
        f"select {schema}.grant_client({literal(role)})",
        f"insert into {schema}.runtime_roles (role) values ({literal(role)}) on conflict do nothing",  # noqa: S608 (quoted)
    )


def refusal(role: str) -> str:
    """Return a statement that selects the reason why the role cannot be used, or null."""
    return f"""
        select case when r.rolname is null then 'absent' when r.rolsuper then 'superuser'
          when pg_has_role(r.rolname, current_user, 'member') then 'owner' end
        from (values ({literal(role)})) as wanted (role) left join pg_roles r on r.rolname = wanted.role"""  # noqa: S608 (quoted)


def refuse(role: str, reason: str) -> NoReturn:
    raise ConfigError(f"The runtime role {role!r} {_REASONS[reason].format(role=identifier(role))}.")
