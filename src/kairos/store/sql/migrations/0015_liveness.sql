-- Times count from the statement, not from the begin of its transaction: the outcome of a step is settled in the
-- transaction that `ctx.transaction()` opened, and that may be minutes old by then. STABLE and inlined as before.
create or replace function kairos.now() returns timestamptz language sql stable parallel safe
  as $$ select statement_timestamp() $$;

-- A worker some of whose outcomes cannot be committed because another session has their rows locked.
alter table kairos.workers add column blocked_since timestamptz, add column blocked_by text;
