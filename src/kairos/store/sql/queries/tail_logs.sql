-- tail_logs: the lines of many jobs ($1), each after its own cursor ($2), at most $3 of each. Index: logs_pkey.
select w.job as job_id, l.cursor, l.at, l.level, l.line, l.fields::text as fields, l.step, l.attempt, l.stream
from unnest($1::bigint[], $2::bigint[]) as w (job, cursor)
cross join lateral (
  select k.* from kairos.logs k where k.job_id = w.job and k.cursor > w.cursor order by k.cursor limit $3::int
) l
order by w.job, l.cursor
