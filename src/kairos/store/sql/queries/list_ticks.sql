-- list_ticks: the decisions on one schedule's ticks, newest first, before $2. Index: ticks_pkey.
select t.schedule, t.generation, t.tick_at, t.job_id, t.reason, t.decided_at
from kairos.ticks t
where t.schedule = $1::text and ($2::timestamptz is null or t.tick_at < $2::timestamptz)
order by t.tick_at desc
limit $3::int
