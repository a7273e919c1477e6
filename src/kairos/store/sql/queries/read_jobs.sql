-- read_jobs: the jobs of the given ids, as people read them. Index: gen_durable_pkey.
select g.id, g.fsm, g.fsm_version, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state, g.step, g.attempt,
  g.queue, g.priority, g.partition_key, g.tags, coalesce(g.input, g.state)::text as input, g.state::text as machine_state,
  g.result::text as result, g.error_code, g.last_error, g.progress::text as progress, g.inserted_at, g.eligible_at, g.started_at, g.completed_at,
  g.expires_at, g.cancel_requested_at, g.cancel_reason, g.retry_of, g.reply_to, g.schedule, g.locked_by, g.awaits, g.await_until,
  g.retry::text as retry, g.reaps, g.unique_key, g.held, g.created_by, g.request_id, g.trace,
  g.redact || (select m.redact from kairos.machines m where m.name = g.fsm and m.version = g.fsm_version) as redact
from kairos.gen_durable g
where g.id = any ($1::bigint[])
order by g.id
