-- save_schedule: inserts or edits a schedule; an edit that changes what fires or when raises its generation.
-- Guard: an unchanged schedule keeps its generation, cursor and anchors. If $24 is given, the generation must still be
-- that (0: the schedule must not exist); otherwise nothing happens. $25 is the plan of the sentence $20, $26 the retry
-- policy.
insert into kairos.schedules as s (
  name, intent, tz, fsm, fsm_version, step, state, queue, priority, partition_key, ttl, tags,
  overlap, catch_up, catch_up_within, jitter, starts_at, ends_at, count, ticks_left,
  sentence, cursor_at, next_tick_at, declared_by, plan, plan_generation, retry, inserted_at, updated_at
) values (
  $1::text, $2::text, $3::text, $4::text, $5::int, $6::text, $7::text::jsonb, $8::text, $9::smallint,
  $10::text, $11::bigint * interval '1 microsecond', coalesce($12::text::text[], '{}'),
  $13::text, $14::text, $15::bigint * interval '1 microsecond', $16::bigint * interval '1 microsecond',
  $17::timestamptz, $18::timestamptz, $19::int, $19::int,
  $20::text, $21::timestamptz, $22::timestamptz, $23::text, $25::text::jsonb, 1, $26::text::jsonb,
  kairos.now(), kairos.now()
)
on conflict (name) do update set
  generation = s.generation + 1, intent = excluded.intent, sentence = excluded.sentence, tz = excluded.tz,
  fsm = excluded.fsm, fsm_version = excluded.fsm_version, step = excluded.step, state = excluded.state,
  queue = excluded.queue, priority = excluded.priority, partition_key = excluded.partition_key, ttl = excluded.ttl,
  tags = excluded.tags, overlap = excluded.overlap, catch_up = excluded.catch_up,
  catch_up_within = excluded.catch_up_within, jitter = excluded.jitter, starts_at = excluded.starts_at,
  ends_at = excluded.ends_at, count = excluded.count, ticks_left = excluded.ticks_left,
  cursor_at = excluded.cursor_at, next_tick_at = excluded.next_tick_at, declared_by = excluded.declared_by,
  declared_at = null, plan = excluded.plan, plan_generation = s.generation + 1, retry = excluded.retry,
  updated_at = kairos.now()
where (s.intent, s.tz, s.fsm, s.fsm_version, s.step, s.state, s.queue, s.priority, s.partition_key, s.ttl, s.tags,
       s.overlap, s.catch_up, s.catch_up_within, s.jitter, s.starts_at, s.ends_at, s.count, s.retry)
  is distinct from
      (excluded.intent, excluded.tz, excluded.fsm, excluded.fsm_version, excluded.step, excluded.state,
       excluded.queue, excluded.priority, excluded.partition_key, excluded.ttl, excluded.tags, excluded.overlap,
       excluded.catch_up, excluded.catch_up_within, excluded.jitter, excluded.starts_at, excluded.ends_at,
       excluded.count, excluded.retry)
  and ($24::int is null or s.generation = $24::int)
returning s.name, s.generation
