-- list_jobs: newest first, before id $1; every filter may be null. Index: gen_durable_pkey.
select g.id, g.fsm, g.fsm_version, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state, g.step, g.attempt,
  g.queue, g.priority, g.partition_key, g.tags, coalesce(g.input, g.state)::text as input, g.state::text as machine_state,
  g.result::text as result, g.error_code, g.last_error, g.progress::text as progress, g.inserted_at, g.eligible_at, g.started_at, g.completed_at,
  g.expires_at, g.cancel_requested_at, g.cancel_reason, g.retry_of, g.reply_to, g.schedule, g.locked_by, g.awaits, g.await_until,
  g.reaps, g.unique_key, g.held
from kairos.gen_durable g
where ($1::bigint is null or g.id < $1::bigint)
  and ($2::text is null or kairos.job_state(g.status, g.eligible_at, kairos.now()) = $2::text)
  and ($3::text is null or g.fsm = $3::text)
  and ($4::text is null or g.queue = $4::text)
  and ($5::text is null or g.partition_key = $5::text)
  and ($6::text is null or $6::text = any (g.tags))
order by g.id desc
limit $7::int
