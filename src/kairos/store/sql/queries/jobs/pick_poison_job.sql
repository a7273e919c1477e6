-- pick_poison_job: runnable -> executing for the one job that a pick of queue $1 would take next, with or without a
-- key. Does not read those of its columns that may be unreadable. Only for a job at which a pick failed: it is set
-- aside or released, and never run, so neither the limits of its queue nor the other jobs of its key matter.
-- Guard: eligible_at <= now < expires_at. Its key_slot is -1, which no running job has.
-- Index: gen_durable_pick.
with recursive priorities as (
  (select g.priority from kairos.gen_durable g
   where g.queue = $1 and g.status = 'runnable' and not g.held
   order by g.priority limit 1)
  union all
  select (select g.priority from kairos.gen_durable g
          where g.queue = $1 and g.status = 'runnable' and not g.held and g.priority > p.priority
          order by g.priority limit 1)
  from priorities p where p.priority is not null
), first as materialized (
  select c.id from priorities p
  cross join lateral (
    select g.id from kairos.gen_durable g
    where g.queue = $1 and g.status = 'runnable' and not g.held and g.priority = p.priority
      and g.eligible_at <= kairos.now() and (g.expires_at is null or g.expires_at > kairos.now())
    order by g.eligible_at, g.id
    limit 1
    for no key update skip locked
  ) c
  where p.priority is not null
  limit 1
)
update kairos.gen_durable g set
  status = 'executing', key_slot = -1, lease = g.lease + 1, locked_by = $2::text,
  lease_expires_at = kairos.now() + $3::interval, started_at = coalesce(g.started_at, kairos.now()),
  picked_at = kairos.now(), updated_at = kairos.now(),
  unique_key = case when g.unique_scope = '{runnable}' then null else g.unique_key end
where g.id = any (array(select first.id from first))
returning g.id, g.lease, g.fsm, g.fsm_version, g.step, g.attempt, g.partition_key, g.reply_to
