-- A commit counts its own outcomes: instead of reading its history again to count it, a few rows of `stats_deltas` are
-- written with it, and folded into the tallies later. Workers of the version before write history that is not `counted`,
-- which is counted from history as before.

-- step: the counts of a commit
create table kairos.stats_deltas (
  fsm          text not null,
  queue        text not null,
  verb         text not null,
  to_state     text not null,
  minute       timestamptz not null,   -- of the outcome
  start_minute timestamptz,            -- of the begin of the run; null: it was run ahead
  wait         int,                    -- bucket
  run          int,                    -- bucket
  n            bigint not null
) with (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);

-- step: which rows of history are counted by their commit
alter table kairos.history add column counted boolean;

-- step: a counted row that is deleted is forgotten
create or replace function kairos.forget_history() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  upto bigint;
begin
  select c.counted into upto from kairos.tally_cursors c where c.source = 'history' for share;
  insert into kairos.forgotten as f (state, jobs)
  select g.to_state, count(*) from gone g
  where (g.counted or g.id <= upto) and g.verb <> 'fail'
    and g.to_state in ('success', 'failed', 'cancelled', 'expired')
  group by g.to_state order by g.to_state
  on conflict (state) do update set jobs = f.jobs + excluded.jobs;
  return null;
end $$;
