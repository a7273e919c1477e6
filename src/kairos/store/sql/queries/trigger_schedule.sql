-- trigger_schedule: nothing -> runnable: the job of a schedule, now and outside its ticks.
-- Guard: the schedule is there.
insert into kairos.gen_durable (
  fsm, fsm_version, step, state, queue, priority, partition_key, ordered, eligible_at, expires_at, ttl, tags, schedule,
  redact, created_by, request_id, inserted_at, updated_at
)
select s.fsm, s.fsm_version, s.step, s.state, s.queue, s.priority,
  case when s.overlap = 'queue' then coalesce(s.partition_key, 'schedule:' || s.name) else s.partition_key end,
  s.overlap = 'queue', kairos.now(), kairos.now() + s.ttl, s.ttl, s.tags, s.name,
  nullif(m.redact, '{}'), $2::text, $3::text, kairos.now(), kairos.now()
from kairos.schedules s
left join kairos.machines m on m.name = s.fsm and m.version = s.fsm_version
where s.name = $1::text
returning id, queue
