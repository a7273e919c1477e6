-- list_schedules: every schedule, or the one named $1, with what became of its last ticks. Index: schedules_pkey.
select s.name, s.generation, s.intent, s.sentence, s.tz, s.fsm, s.fsm_version, s.state::text as state, s.queue,
  s.priority, s.partition_key, s.ttl, s.tags, s.overlap, s.catch_up, s.catch_up_within, s.jitter, s.starts_at, s.ends_at,
  s.count, s.ticks_left, s.cursor_at, s.next_tick_at, s.paused_at, s.pause_reason, s.declared_by, s.inserted_at,
  kairos.now() as now
from kairos.schedules s
where $1::text is null or s.name = $1::text
order by s.name
