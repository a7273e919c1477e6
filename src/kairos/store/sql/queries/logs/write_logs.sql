-- write_logs: appends log lines of running steps, many jobs at once, and returns for each job whether its lines were
-- written, the row is busy (locked: send again) or stale (the lease is not this worker's: nothing is stored). The row
-- stays locked until the commit, so that neither a reap nor lines of a new owner come in between; it never waits for a
-- lock, because the step itself may hold it. Lines that were stored before are not stored twice: the last line of the
-- job has the lease and the number of the newest one. The keeper skips rows that are locked here, so a lease with less
-- than half its time left is renewed here.
-- Guard: id, lease and worker.
-- Index: gen_durable_pkey, logs_pkey.
with line as materialized (
  select * from unnest(
    $1::text::bigint[], $2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::text[], $6::text::text[],
    $7::text::text[], $8::text::text[], $9::text::int[], $10::text::text[]
  ) as l (job, lease, said, age, level, line, fields, step, attempt, stream)
), wanted as materialized (
  select distinct line.job, line.lease from line
), mine as materialized (
  select g.id, g.lease from wanted w join kairos.gen_durable g on g.id = w.job
  where g.lease = w.lease and coalesce(g.locked_by, '') = $11::text
  order by g.id
  for no key update of g skip locked
), renewed as (
  update kairos.gen_durable g set lease_expires_at = kairos.now() + $12::interval
  from mine where g.id = mine.id
    and g.lease_expires_at > kairos.now() and g.lease_expires_at < kairos.now() + $12::interval / 2
), written as (
  insert into kairos.logs (job_id, cursor, lease, said, at, level, line, fields, step, attempt, stream)
  select m.id, coalesce(last.cursor, 0) + row_number() over (partition by m.id order by l.said), l.lease, l.said,
    kairos.now() - l.age * interval '1 microsecond', l.level, l.line, l.fields::jsonb, l.step, l.attempt, l.stream
  from mine m
  join line l on l.job = m.id and l.lease = m.lease
  left join lateral (
    select k.cursor, k.lease, k.said from kairos.logs k where k.job_id = m.id order by k.cursor desc limit 1
  ) last on true
  where last.cursor is null or (l.lease, l.said) > (last.lease, last.said)
)
select w.job as id, w.lease,
  case when m.id is not null then 'written' when g.id is not null then 'busy' else 'stale' end as answer
from wanted w
left join mine m on m.id = w.job and m.lease = w.lease
left join kairos.gen_durable g on g.id = w.job and g.lease = w.lease and coalesce(g.locked_by, '') = $11::text
