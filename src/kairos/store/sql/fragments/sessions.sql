-- sessions: all sessions of the server as `sessions`, with the columns of pg_stat_activity; `own` says which are those of
-- Kairos in this database that this session may end. Its role may have `role` set to another one (alter role … set role),
-- which neither sees what the sessions of the role that logged in do nor may end them. So the rest of the transaction
-- runs as the role that logged in.
logged_in as materialized (
  select set_config('role', 'none', true) as role
), sessions as materialized (
  select a.*, pg_get_userbyid(a.usesysid)::text as usename,
    a.application_name ~ '^kairos( |$)' and a.pid <> pg_backend_pid()
      and a.usesysid = (select r.oid from pg_roles r where r.rolname = session_user)
      and a.datid = (select d.oid from pg_database d where d.datname = current_database()) as own
  -- null, which means all: read once the role is set.
  from logged_in l cross join lateral pg_stat_get_activity(case when l.role is null then 0 end) a
)
