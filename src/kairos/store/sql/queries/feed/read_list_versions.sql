-- read_list_versions: a version of each list that can change without a history row or the start of a job. It differs
-- whenever a row was added, changed or removed. The version of the list of workers changes when a heartbeat becomes
-- older than $1, not with each heartbeat. That of the list of jobs is the latest due time that has passed: it is looked
-- up for at most $2 pairs of queue and priority, of queue $3 or of all. The other tables are small; of the audit log
-- only the newest id is read.
-- Index: gen_durable_pick, gen_durable_queue_held.
with recursive
{waiting_lines: queue=$3; after=''; most=65536}
select 'jobs' as list, coalesce(max(due.eligible_at)::text, '') as mark from (
  (select d.eligible_at from (select * from lines limit $2::int) l cross join lateral (
     select g.eligible_at from kairos.gen_durable g
     where g.queue = l.queue and g.status = 'runnable' and not g.held and g.priority = l.priority
       and g.eligible_at <= kairos.now()
     order by g.eligible_at desc limit 1
   ) d)
  union all
  (select d.eligible_at from (select * from held limit $2::int) h cross join lateral (
     select g.eligible_at from kairos.gen_durable g
     where g.queue = h.queue and g.status = 'runnable' and g.held and g.eligible_at <= kairos.now()
     order by g.eligible_at desc limit 1
   ) d)
) due
union all
select 'audit', coalesce(max(a.id), 0)::text from kairos.audit a
union all
select 'keys', count(*) || ' ' || coalesce(sum(k.xmin::text::bigint), 0) from kairos.keys k
union all
select 'machines', count(*) || ' ' || coalesce(sum(m.xmin::text::bigint), 0) from kairos.machines m
union all
select 'queues', count(*) || ' ' || coalesce(sum(q.xmin::text::bigint), 0) from kairos.queues q
union all
select 'schedules', count(*) || ' ' || coalesce(sum(s.xmin::text::bigint), 0) from kairos.schedules s
union all
select 'webhooks', count(*) || ' ' || coalesce(sum(w.xmin::text::bigint), 0) from kairos.webhooks w
union all
select 'heartbeats', coalesce(sum(w.xmin::text::bigint), 0)::text from kairos.workers w
union all
select 'workers', count(*) filter (where w.seen_at > kairos.now() - $1::interval) || ' '
  || coalesce(sum(hashtext(w.id || coalesce(w.stopping_at::text, '') || coalesce(w.drain_at::text, ''))), 0)
from kairos.workers w
