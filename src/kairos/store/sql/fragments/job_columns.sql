-- job_columns: every field of a job that clients see, of the row `g`; its JSON documents only if {whole}.
g.id, g.fsm, g.fsm_version, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state, g.step, g.attempt,
  g.queue, g.priority, g.partition_key, g.tags,
  case when {whole} then coalesce(g.input, g.state)::text end as input,
  case when {whole} then g.state::text end as machine_state,
  case when {whole} then g.result::text end as result, g.error_code, g.last_error, g.error_group,
  case when {whole} then g.progress::text end as progress, g.inserted_at, g.eligible_at, g.started_at, g.completed_at,
  g.expires_at, g.cancel_requested_at, g.cancel_reason, g.retry_of, g.reply_to, g.schedule, g.locked_by, g.awaits, g.await_until,
  g.retry::text as retry, g.reaps, g.unique_key, g.held, g.created_by, g.request_id, g.trace,
  g.redact || (select m.redact from kairos.machines m where m.name = g.fsm and m.version = g.fsm_version) as redact
