"""The statements that record migration steps and find the transactions that block a migration."""

from __future__ import annotations

from kairos.fsm.guard import guard_sql
from kairos.store.migration_files import Migration, Step, checksum, wanted_version
from kairos.store.sql_quoting import literal


def bookkeeping(schema: str) -> str:
    return f"""
        create schema if not exists {schema};
        create table if not exists {schema}.migrations (
            version int primary key, name text not null, applied_at timestamptz not null default now()
        );
        create table if not exists {schema}.migration_steps (
            version int not null, step int not null, name text not null, checksum text not null,
            breaks_before int not null, applied_at timestamptz not null default now(), primary key (version, step)
        );
        create table if not exists {schema}.guards (
            checksum text primary key, version int not null, applied_at timestamptz not null
        );
        create table if not exists {schema}.runtime_roles (role text primary key)"""


def record(schema: str, migration: Migration, step: Step) -> str:
    values = f"{migration.version}, {step.number}, {literal(step.name)}, '{step.checksum}', {migration.breaks_before}"
    return f"insert into {schema}.migration_steps (version, step, name, checksum, breaks_before) values ({values})"  # noqa: S608 (our own names)


def record_guard(schema: str) -> str:
    return f"""
        insert into {schema}.guards (checksum, version, applied_at)
        values ('{checksum(guard_sql())}', {wanted_version()}, clock_timestamp())
        on conflict (checksum) do update set version = excluded.version, applied_at = excluded.applied_at"""  # noqa: S608 (our own names)


def set_audit_retention(schema: str, seconds: int) -> str:
    return f"""
        create or replace function {schema}.audit_retention() returns interval language sql immutable parallel safe
        as $$ select interval '{seconds} seconds' $$"""


def set_inbox_quota(schema: str, name: str, value: int) -> str:
    kind = "int" if name == "inbox_signals" else "bigint"
    return f"""
        create or replace function {schema}.{name}() returns {kind} language sql immutable parallel safe
        as $$ select {value}::{kind} $$"""


def blocker(schema: str) -> str:
    """Return a statement that finds the oldest transaction with a lock on a table of the schema."""
    return f"""
        select json_build_array(a.pid, coalesce(nullif(a.application_name, ''), a.usename::text, '?'),
          coalesce(a.state, '?'), extract(epoch from clock_timestamp() - a.xact_start)::bigint,
          'on ' || min(c.relname))::text
        from pg_locks l
        join pg_class c on c.oid = l.relation and c.relkind = 'r' and c.relnamespace = to_regnamespace('{schema}')
        join pg_stat_activity a on a.pid = l.pid
        where l.granted and l.database = (select d.oid from pg_database d where d.datname = current_database())
          and a.pid <> pg_backend_pid()
        group by a.pid, a.application_name, a.usename, a.state, a.xact_start
        order by a.xact_start limit 1"""  # noqa: S608 (a checked name)


def oldest_transaction() -> str:
    """Return a statement that finds the oldest transaction with a snapshot, which a concurrent build waits for."""
    return """
        select json_build_array(a.pid, coalesce(nullif(a.application_name, ''), a.usename::text, '?'),
          coalesce(a.state, '?'), extract(epoch from clock_timestamp() - a.xact_start)::bigint, 'with a snapshot')::text
        from pg_stat_activity a
        where a.datname = current_database() and a.pid <> pg_backend_pid()
          and (a.backend_xmin is not null or a.backend_xid is not null)
        order by a.xact_start limit 1"""
