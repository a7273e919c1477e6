-- match_schedule: whether schedule $1 already has these settings. If so, its sentence is not compiled again, and its
-- anchors do not change. Compares the same columns as save_schedule.
-- Index: schedules_pkey.
select s.name from kairos.schedules s
where s.name = $1::text
  and (s.intent, s.tz, s.fsm, s.fsm_version, s.step, s.state, s.queue, s.priority, s.partition_key, s.ttl, s.tags,
       s.overlap, s.catch_up, s.catch_up_within, s.jitter, s.starts_at, s.ends_at, s.count, s.retry)
  is not distinct from
      ($2::text, $3::text, $4::text, $5::int, $6::text, $7::text::jsonb, $8::text, $9::smallint, $10::text,
       $11::bigint * interval '1 microsecond', coalesce($12::text::text[], '{}'), $13::text, $14::text,
       $15::bigint * interval '1 microsecond', $16::bigint * interval '1 microsecond', $17::timestamptz,
       $18::timestamptz, $19::int, $20::text::jsonb)
