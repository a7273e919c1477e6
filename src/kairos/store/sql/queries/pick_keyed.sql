-- pick_keyed: runnable -> executing for the heads of locked keys; puts the others met behind them on hold.
-- Guard: a free place of the key, and the head of its line; gen_durable_key_holder makes a second holder
-- uncommittable. Index: gen_durable_key_line, gen_durable_key_holder.
with places as materialized (
  select k.key, slot.number as slot, row_number() over (partition by k.key order by slot.number) as place
  from unnest($1::text[]) as k (key)
  cross join generate_series(
    0, coalesce((select q.key_concurrency from kairos.queues q where q.name = $5), 1) - 1
  ) as slot (number)
  where not exists (
    select from kairos.gen_durable e
    where e.partition_key = k.key and e.status = 'executing' and e.key_slot = slot.number
  )
), heads as materialized (
  select h.id, p.key, p.slot
  from (select key, count(*) as free from places group by key) f
  cross join lateral kairos.key_heads(f.key, f.free::int) h
  join places p on p.key = f.key and p.place = h.place
), takable as materialized (
  select g.id, h.slot from heads h join kairos.gen_durable g on g.id = h.id
  where h.id = any ($2::bigint[]) and g.status = 'runnable' and g.eligible_at <= kairos.now()
  order by g.id
  for no key update of g skip locked
), behind as materialized (
  select g.id from kairos.gen_durable g
  where g.id = any ($2::bigint[]) and g.partition_key = any ($1::text[])
    and g.status = 'runnable' and not g.held and g.id not in (select id from heads)
  order by g.id
  for no key update skip locked
), waiting as materialized (
  select g.id from heads h join kairos.gen_durable g on g.id = h.id
  where g.held and g.status = 'runnable' and g.id <> all ($2::bigint[])
  for no key update of g skip locked
), opened as (
  update kairos.gen_durable g set held = false from waiting w where g.id = w.id
), held as (
  update kairos.gen_durable g set held = true from behind b where g.id = b.id
), claimed as (
  update kairos.gen_durable g set
    status = 'executing', held = false, key_slot = t.slot, lease = g.lease + 1, locked_by = $3,
    lease_expires_at = kairos.now() + $4::interval, started_at = coalesce(g.started_at, kairos.now()),
    picked_at = kairos.now(), updated_at = kairos.now(),
    unique_key = case when g.unique_scope = '{runnable}' then null else g.unique_key end
  from takable t where g.id = t.id
  returning g.id, g.lease, g.fsm, g.fsm_version, g.step, g.state, g.attempt, g.partition_key, g.awaits, g.reply_to,
    g.signalled, g.reaps, g.max_reaps, g.priority, g.eligible_at
)
select
  c.id, c.lease, c.fsm, c.fsm_version, c.step, c.state::text as state, c.attempt, c.partition_key, c.awaits, c.reply_to,
  case when c.signalled then (
    select jsonb_agg(jsonb_build_object('id', s.id, 'name', s.name, 'payload', s.payload) order by s.id)::text
    from kairos.signals s where s.target_id = c.id and s.consumed_at is null
  ) end as inbox,
  c.reaps * 2 > c.max_reaps as suspect, c.priority, c.eligible_at, true as claimed
from claimed c
order by c.priority, c.eligible_at, c.id
