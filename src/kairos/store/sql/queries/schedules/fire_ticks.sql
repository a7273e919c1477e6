-- fire_ticks: nothing -> runnable for the ticks that fire; records the decision on each tick.
-- Guard: the identity (schedule, generation, tick_at): a tick that was decided before is neither recorded nor fired
-- again; where $6 is true, nor is one that was decided under an older generation.
-- Index: ticks_pkey, gen_durable_held, gen_durable_key_line.
with decided as materialized (
  select d.name, d.generation, d.tick_at, d.reason, d.delay,
    case when d.reason is null then nextval((select kairos.job_ids())) end as job_id
  from unnest($1::text::text[], $2::text::int[], $3::text::timestamptz[], $4::text::text[], $5::text::bigint[])
    as d (name, generation, tick_at, reason, delay)
), fresh as (
  insert into kairos.ticks (schedule, generation, tick_at, job_id, reason, decided_at)
  select d.name, d.generation, d.tick_at, d.job_id, d.reason, kairos.now() from decided d
  where not ($6::boolean and exists (
    select from kairos.ticks t where t.schedule = d.name and t.tick_at = d.tick_at
  ))
  on conflict do nothing
  returning schedule, tick_at, job_id, reason
), firing as (
  select f.schedule, f.job_id, f.tick_at, f.tick_at + coalesce(d.delay, 0) * interval '1 microsecond' as due_at,
    $7::text as created_by, $8::text as request_id
  from fresh f join decided d on d.job_id = f.job_id
),
{job_of_schedule},
{insert_job_rows}
select f.schedule, f.tick_at, f.job_id, f.reason, i.queue
from fresh f left join inserted i on i.id = f.job_id
