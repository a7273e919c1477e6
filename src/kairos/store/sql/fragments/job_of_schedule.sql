-- job_of_schedule: the jobs of schedules, as rows for insert_job_rows. The statement defines `firing`: schedule,
-- job_id, tick_at, due_at, created_by and request_id. Columns that a schedule does not set are null.
job as materialized (
  select j.* from firing f
  join kairos.schedules s on s.name = f.schedule
  left join kairos.machines m on m.name = s.fsm and m.version = s.fsm_version
  cross join lateral jsonb_populate_record(null::kairos.gen_durable, jsonb_build_object(
    'id', f.job_id, 'fsm', s.fsm, 'fsm_version', s.fsm_version, 'step', s.step, 'state', s.state,
    'queue', s.queue, 'priority', s.priority, 'tags', s.tags, 'redact', nullif(m.redact, '{}'),
    'search', to_jsonb(kairos.search_entries(s.state, nullif(m.search, '{}'))),
    'partition_key', case when s.overlap = 'queue' then coalesce(s.partition_key, 'schedule:' || s.name)
                          else s.partition_key end,
    'ordered', s.overlap = 'queue', 'schedule', s.name, 'tick_at', f.tick_at, 'eligible_at', f.due_at,
    'ttl', s.ttl, 'expires_at', greatest(f.due_at, kairos.now()) + s.ttl,
    'created_by', f.created_by, 'request_id', f.request_id, 'retry', s.retry
  )) j
)
