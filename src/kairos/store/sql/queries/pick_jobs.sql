-- pick_jobs: runnable -> executing, one queue: claims the jobs without a key, names those with one.
-- Guard: eligible_at <= now < expires_at; a paused queue gives nothing, a limited one only what was admitted.
-- Index: gen_durable_pick. Priorities are walked by a skip scan, so work for later is never read.
with recursive gate as materialized (
  select from (values (true)) as v
  where not exists (
    select from kairos.queues q
    where q.name = $1
      and (q.paused_at is not null or (not $5::boolean and (q.concurrency is not null or q.rate_limit is not null)))
  )
), priorities as (
  (select g.priority from gate, kairos.gen_durable g
   where g.queue = $1 and g.status = 'runnable' and not g.held
   order by g.priority limit 1)
  union all
  select (select g.priority from kairos.gen_durable g
          where g.queue = $1 and g.status = 'runnable' and not g.held and g.priority > p.priority
          order by g.priority limit 1)
  from priorities p where p.priority is not null
), due as materialized (
  select c.id, c.partition_key
  from priorities p
  cross join lateral (
    select g.id, g.partition_key from kairos.gen_durable g
    where g.queue = $1 and g.status = 'runnable' and not g.held and g.priority = p.priority
      and g.eligible_at <= kairos.now() and (g.expires_at is null or g.expires_at > kairos.now())
    order by g.eligible_at, g.id
    limit $2::int
    for no key update skip locked
  ) c
  where p.priority is not null
  limit $2::int
), claimed as (
  update kairos.gen_durable g set
    status = 'executing', lease = g.lease + 1, locked_by = $3, lease_expires_at = kairos.now() + $4::interval,
    started_at = coalesce(g.started_at, kairos.now()), picked_at = kairos.now(), updated_at = kairos.now(),
    unique_key = case when g.unique_scope = '{runnable}' then null else g.unique_key end
  where g.id = any (array(select due.id from due where due.partition_key is null))
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
union all
select due.id, null, null, null, null, null, null, due.partition_key, null, null, null, null, null, null, null, null, null,
  false
from due where due.partition_key is not null
order by priority, eligible_at, id
