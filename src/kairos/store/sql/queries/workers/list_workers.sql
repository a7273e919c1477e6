-- list_workers: workers by id, or only worker $1, with the jobs that each runs, and whether its last heartbeat is
-- within $2. At most $4 after worker $3 (null: from the start, all).
-- Index: gen_durable_lease.
select w.id, w.host, w.pid, w.queues, w.actions, w.concurrency, w.started_at, w.seen_at, w.stopping_at, w.drain_at,
  w.seen_at > kairos.now() - $2::interval as live, coalesce(r.running, 0) as running
from kairos.workers w
left join (
  select g.locked_by, count(*) as running from kairos.gen_durable g where g.status = 'executing' group by g.locked_by
) r on r.locked_by = w.id
where ($1::text is null or w.id = $1::text) and w.id > coalesce($3::text, '')
order by w.id
limit $4::int
