-- list_ticks: the decisions on the ticks of one schedule, newest first, before ($2, $3): an instant and a generation.
-- Index: ticks_pkey.
select t.schedule, t.generation, t.tick_at, t.job_id, t.reason, t.decided_at
from kairos.ticks t
where t.schedule = $1::text and (t.tick_at, t.generation) < (coalesce($2::timestamptz, 'infinity'), $3::int)
order by t.tick_at desc, t.generation desc
limit $4::int
