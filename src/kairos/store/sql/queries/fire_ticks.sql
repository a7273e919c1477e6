-- fire_ticks: nothing -> runnable for the ticks that fire; records the decision on each tick.
-- Guard: the identity (schedule, generation, tick_at): a tick decided before is neither recorded nor fired again;
-- nor, where $6 says so, one that was decided under an older generation.
-- Index: ticks_pkey.
with decided as materialized (
  select d.name, d.generation, d.tick_at, d.reason, d.delay,
    case when d.reason is null then nextval('kairos.gen_durable_id_seq') end as job_id
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
), inserted as (
  insert into kairos.gen_durable (
    id, fsm, fsm_version, step, state, queue, priority, partition_key, ordered, eligible_at, expires_at, ttl, tags,
    schedule, tick_at, redact, created_by, request_id, inserted_at, updated_at
  ) overriding system value
  select f.job_id, s.fsm, s.fsm_version, s.step, s.state, s.queue, s.priority,
    case when s.overlap = 'queue' then coalesce(s.partition_key, 'schedule:' || s.name) else s.partition_key end,
    s.overlap = 'queue', due.at, greatest(due.at, kairos.now()) + s.ttl, s.ttl, s.tags, s.name, f.tick_at,
    nullif(m.redact, '{}'), $7::text, $8::text, kairos.now(), kairos.now()
  from fresh f
  join kairos.schedules s on s.name = f.schedule
  left join kairos.machines m on m.name = s.fsm and m.version = s.fsm_version
  join decided d on d.job_id = f.job_id
  cross join lateral (select f.tick_at + coalesce(d.delay, 0) * interval '1 microsecond' as at) due
  where f.job_id is not null
  returning id, queue, schedule, tick_at
)
select f.schedule, f.tick_at, f.job_id, f.reason, i.queue
from fresh f left join inserted i on i.id = f.job_id
