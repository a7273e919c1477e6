-- finish_jobs: executing -> done, a batch, with its history: settle_jobs for the plainest and commonest outcome,
-- at two thirds of its price. No cancel request, TTL or signal has a say in it.
-- Guard: id, lease and worker, as in settle_jobs. Index: gen_durable_pkey.
with outcome as materialized (
  select * from unnest($1::text::bigint[], $2::text::bigint[], $3::text::text[]) as o (id, lease, result)
), settled as (
  update kairos.gen_durable g set
    status = 'done', locked_by = null, lease_expires_at = null, completed_at = kairos.now(),
    result = o.result::jsonb, error_code = null, last_error = null,
    awaits = null, await_until = null, await_then = null, updated_at = kairos.now()
  from outcome o
  where g.id = o.id and g.lease = o.lease and coalesce(g.locked_by, '') = $4::text
  returning g.id, g.status, g.lease, g.partition_key, g.step, g.attempt, g.picked_at
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, worker, started_at, at)
  select s.id, 'done', 'running', 'success', s.step, s.attempt, $4::text, s.picked_at, kairos.now() from settled s
)
select s.id, s.status::text as status, s.lease, s.partition_key from settled s
