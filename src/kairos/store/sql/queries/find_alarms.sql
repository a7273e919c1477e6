-- find_alarms: whatever is wrong right now and cheap to see: one row for each kind and subject.
-- Distinct queues, priorities and actions that wait are walked by a skip scan, and nothing is read that is not due. Of
-- each kind and subject a thousand are counted: of so many there may be more, and the alarm says so.
-- $1 overdue after, $2 unserved after, $3 a worker is live for, $4 waiting after, $5 and $6 the same for some actions,
-- $7 skewed from, $8 deaf after.
-- Index: gen_durable_pick, gen_durable_waits, gen_durable_deliveries.
with recursive live as materialized (
  select w.* from kairos.workers w
  where w.seen_at > kairos.now() - $3::interval and w.stopping_at is null
), lines (queue, priority) as (
  (select g.queue, g.priority from kairos.gen_durable g
   where g.status = 'runnable' and not g.held
   order by g.queue, g.priority limit 1)
  union all
  select n.queue, n.priority from lines l
  cross join lateral (
    select g.queue, g.priority from kairos.gen_durable g
    where g.status = 'runnable' and not g.held and (g.queue, g.priority) > (l.queue, l.priority)
    order by g.queue, g.priority limit 1
  ) n
), waits (fsm) as (
  (select g.fsm from kairos.gen_durable g
   where g.status = 'awaiting_signal' and g.await_until is null
   order by g.fsm limit 1)
  union all
  select n.fsm from waits w
  cross join lateral (
    select g.fsm from kairos.gen_durable g
    where g.status = 'awaiting_signal' and g.await_until is null and g.fsm > w.fsm
    order by g.fsm limit 1
  ) n
), due as materialized (
  select l.queue, min(f.eligible_at) as since,
    exists (select from live w where l.queue = any (w.queues)) as served
  from lines l
  cross join lateral (
    select g.eligible_at from kairos.gen_durable g
    where g.queue = l.queue and g.status = 'runnable' and not g.held and g.priority = l.priority
      and g.eligible_at <= kairos.now() and (g.expires_at is null or g.expires_at > kairos.now())
    order by g.eligible_at limit 1
  ) f
  where not exists (select from kairos.queues q where q.name = l.queue and q.paused_at is not null)
  group by l.queue
), late as (
  select case when d.served then 'jobs_overdue' else 'queue_unserved' end as kind, d.queue, d.since,
    case when d.served then $1::interval else $2::interval end as after
  from due d
), strangers as (
  select name, 'worker ' || min(w.id) || ' was given one' as detail
  from live w cross join unnest(w.unknown) as name
  group by name
  union all
  -- Not met yet, but sure to come.
  select s.fsm || '@' || s.fsm_version, 'schedule ' || min(s.name) || ' enqueues it' from kairos.schedules s
  where s.paused_at is null and s.next_tick_at is not null and exists (select from live)
  group by s.fsm, s.fsm_version
)
select l.kind, l.queue as subject, n.count, l.since, null as detail
from late l
cross join lateral (
  select count(*) from (
    select from lines p
    cross join lateral (
      select from kairos.gen_durable g
      where g.queue = p.queue and g.status = 'runnable' and not g.held and g.priority = p.priority
        and g.eligible_at <= kairos.now() - l.after and (g.expires_at is null or g.expires_at > kairos.now())
      order by g.eligible_at limit 1000
    ) each
    where p.queue = l.queue
    limit 1000
  ) counted
) n
where l.since <= kairos.now() - l.after
union all
select 'action_unknown', s.name, 1, kairos.now(), min(s.detail)
from strangers s
where not exists (
  select from live w where s.name = any (w.machines)
    -- A worker of an older Kairos tells only the names.
    or (w.machines = '{}' and split_part(s.name, '@', 1) = any (w.actions)))
group by s.name
union all
select 'jobs_waiting', w.fsm, n.count, n.since, 'job ' || n.id
from waits w
left join unnest($5::text::text[], $6::text::bigint[]) as own (action, after) on own.action = w.fsm
cross join lateral (
  select count(*), min(o.since) as since, (array_agg(o.id order by o.since))[1] as id
  from (
    select g.id, g.updated_at as since from kairos.gen_durable g
    where g.fsm = w.fsm and g.status = 'awaiting_signal' and g.await_until is null
      and g.updated_at <= kairos.now() - coalesce(own.after * interval '1 microsecond', $4::interval)
    order by g.updated_at limit 1000
  ) o
) n
where n.count > 0
union all
select 'schedule_paused', s.name, 1, s.paused_at, s.pause_reason from kairos.schedules s
where s.paused_at is not null
  and (s.pause_reason = 'no longer declared in code' or s.pause_reason like 'its sentence cannot be read:%')
union all
select 'clock_skewed', w.host, count(*), kairos.now(), max(abs(extract(epoch from w.clock_skew)))::text
from live w
where abs(extract(epoch from w.clock_skew)) >= extract(epoch from $7::interval)
group by w.host
union all
select 'listener_deaf', w.id, 1, w.deaf_since, null from live w
where w.deaf_since <= kairos.now() - $8::interval
union all
select 'webhook_undeliverable', w.id::text, 1, d.completed_at, d.last_error
from kairos.webhooks w
cross join lateral (
  select g.status, g.completed_at, g.last_error from kairos.gen_durable g
  where g.fsm = 'kairos' || '.webhook' and g.state ->> 'webhook' = w.id::text and g.completed_at is not null
  order by g.id desc limit 1
) d
where w.paused_at is null and d.status in ('failed', 'expired')
