-- pick_keyed: runnable -> executing for the first jobs of locked keys; holds the other candidates behind them. Never
-- waits. Rows are found by arrays of ids: in a join to the first jobs the planner cannot estimate their number, and
-- would read the whole table.
-- Guard: a free place of the key, and the first job of the key; gen_durable_key_holder prevents a second holder.
-- Index: gen_durable_pkey, gen_durable_key_line, gen_durable_key_holder.
with allowed as materialized (
  select coalesce((select q.key_concurrency from kairos.queues q where q.name = $5), 1) as places
), free as materialized (
  -- At most the free places: the limit may have been lowered below the number of running jobs.
  select k.key, array(
    select slot from generate_series(0, a.places - 1) as slot
    where slot <> all (r.taken)
    order by slot limit greatest(0, a.places - cardinality(r.taken))
  ) as slots
  from unnest($1::text[]) as k (key)
  cross join allowed a
  cross join lateral (
    select array(
      select e.key_slot from kairos.gen_durable e where e.partition_key = k.key and e.status = 'executing'
    ) as taken
  ) r
), heads as materialized (
  select h.id, f.slots[h.place] as slot
  from free f
  cross join lateral kairos.key_heads(f.key, cardinality(f.slots)) h
  where cardinality(f.slots) > 0
), takable as materialized (
  select g.id from kairos.gen_durable g
  where g.id = any (array(select h.id from heads h where h.id = any ($2::bigint[])))
    and g.status = 'runnable' and g.eligible_at <= kairos.now()
    and (g.expires_at is null or g.expires_at > kairos.now())
  for no key update skip locked
), behind as materialized (
  select g.id from kairos.gen_durable g
  where g.id = any ($2::bigint[]) and g.partition_key = any ($1::text[])
    and g.status = 'runnable' and not g.held and g.id <> all (array(select h.id from heads h))
  for no key update skip locked
), waiting as materialized (
  select g.id from kairos.gen_durable g
  where g.id = any (array(select h.id from heads h where h.id <> all ($2::bigint[])))
    and g.status = 'runnable' and g.held
  for no key update skip locked
), moved as (
  update kairos.gen_durable g set held = not g.held
  where g.id = any (array(select id from behind union all select id from waiting))
), claimed as (
  update kairos.gen_durable g set
    status = 'executing', held = false, key_slot = h.slot, lease = g.lease + 1, locked_by = $3,
    lease_expires_at = kairos.now() + $4::interval, started_at = coalesce(g.started_at, kairos.now()),
    picked_at = kairos.now(), updated_at = kairos.now(),
    unique_key = case when g.unique_key is null or g.unique_scope = '{runnable}' then null else g.unique_key end
  from heads h where h.id = g.id and g.id = any (array(select t.id from takable t))
  returning g.id, g.lease, g.fsm, g.fsm_version, g.step, g.state, g.attempt, g.partition_key, g.awaits, g.reply_to,
    g.signalled, g.reaps, g.max_reaps, g.trace, g.retry, g.priority, g.eligible_at
)
select
  {claim_columns}
from claimed c
order by c.priority, c.eligible_at, c.id
