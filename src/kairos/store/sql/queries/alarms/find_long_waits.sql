-- find_long_waits: finds actions whose jobs have waited for a signal, without a deadline, for longer than is normal.
-- The actions are found by a skip scan; at most a thousand jobs of each are counted.
-- Parameters: $1 the normal waiting time; $2 actions with a time of their own, and $3 these times.
-- Index: gen_durable_waits.
with recursive waits (fsm) as (
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
)
select 'jobs_waiting' as kind, w.fsm as subject, n.count, n.since, 'job ' || n.id as detail
from waits w
left join unnest($2::text::text[], $3::text::bigint[]) as own (action, after) on own.action = w.fsm
cross join lateral (
  select count(*), min(o.since) as since, (array_agg(o.id order by o.since))[1] as id
  from (
    select g.id, g.updated_at as since from kairos.gen_durable g
    where g.fsm = w.fsm and g.status = 'awaiting_signal' and g.await_until is null
      and g.updated_at <= kairos.now() - coalesce(own.after * interval '1 microsecond', $1::interval)
    order by g.updated_at limit 1000
  ) o
) n
where n.count > 0
