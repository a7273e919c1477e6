-- purge_ticks: deletes tick records whose retention is over, and counts them.
-- Guard: decided_at + $1 <= now.
-- Index: ticks_decided, ticks_pkey.
with old as materialized (
  select t.schedule, t.tick_at, t.generation from kairos.ticks t
  where t.decided_at <= kairos.now() - $1::interval
  order by t.decided_at
  limit $2::int
  for update skip locked
), forgotten as (
  delete from kairos.ticks t using old
  where t.schedule = old.schedule and t.tick_at = old.tick_at and t.generation = old.generation
  returning t.tick_at
)
select count(*) as ticks from forgotten
