-- read_pick_bounds: from where pick_jobs_from has to read each priority of queue $1 that has something due now or within
-- $2, in microseconds: from its first job, or from a second ago if that is earlier. `now` comes with every row, and once
-- without a priority.
-- Index: gen_durable_pick, one descent per priority in use.
with recursive
{priorities_in_use: rows=kairos.gen_durable g}
select p.priority,
  (date_part('epoch', least(p.eligible_at, kairos.now() - interval '1 second')) * 1000000)::bigint as since
from priorities p where p.eligible_at <= kairos.now() + $2::interval
union all
select null, (date_part('epoch', kairos.now() - interval '1 second') * 1000000)::bigint
