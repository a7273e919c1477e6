-- pick_keyed: runnable -> executing for the heads of locked keys; puts the others met behind them on hold.
-- Guard: a free place of the key, and the head of its line; gen_durable_key_holder makes a second holder
-- uncommittable. Never waits. Rows are found by arrays of ids: joined to the heads, whose number the planner cannot
-- guess, it would read the whole table. Index: gen_durable_pkey, gen_durable_key_line, gen_durable_key_holder.
with allowed as materialized (
  select coalesce((select q.key_concurrency from kairos.queues q where q.name = $5), 1) as places
), free as materialized (
  -- No more than the room that is left: a limit may have been lowered under those that run.
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
    unique_key = case when g.unique_scope = '{runnable}' then null else g.unique_key end
  from heads h where h.id = g.id and g.id = any (array(select t.id from takable t))
  returning g.id, g.lease, g.fsm, g.fsm_version, g.step, g.state, g.attempt, g.partition_key, g.awaits, g.reply_to,
    g.signalled, g.reaps, g.max_reaps, g.trace, g.retry, g.priority, g.eligible_at
)
select
  c.id, c.lease, c.fsm, c.fsm_version, c.step, c.state::text as state, c.attempt, c.partition_key, c.awaits, c.reply_to,
  case when c.signalled then (
    select jsonb_agg(jsonb_build_object('id', s.id, 'name', s.name, 'payload', s.payload) order by s.id)::text
    from kairos.signals s where s.target_id = c.id and s.consumed_at is null
  ) end as inbox,
  c.reaps * 2 > c.max_reaps as suspect, (extract(epoch from kairos.now()) * 1000000)::bigint as picked, c.trace,
  c.retry::text as retry, c.priority, c.eligible_at, true as claimed
from claimed c
order by c.priority, c.eligible_at, c.id
