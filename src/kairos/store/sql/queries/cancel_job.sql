-- cancel_job: runnable, awaiting_signal -> cancelled; for a running job it is a request that its step honours.
-- Guard: a live job. Index: gen_durable_pkey.
with target as materialized (
  select g.id, g.status, g.eligible_at, g.completed_at, g.cancel_requested_at
  from kairos.gen_durable g where g.id = $1::bigint
  for no key update
), cancelled as (
  update kairos.gen_durable g set
    status = case when t.status = 'executing' then 'executing' else 'cancelled' end::kairos.durable_status,
    held = false,
    completed_at = case when t.status = 'executing' then null else kairos.now() end,
    cancel_requested_at = coalesce(g.cancel_requested_at, kairos.now()),
    cancel_reason = coalesce(g.cancel_reason, $2::text), updated_at = case when t.status = 'executing' then g.updated_at else kairos.now() end
  from target t where g.id = t.id and t.completed_at is null
  returning g.id, g.step, g.attempt, g.status
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, actor, reason, at)
  select c.id, 'cancel', kairos.job_state(t.status, t.eligible_at, kairos.now()), 'cancelled', c.step, c.attempt,
         $3::text, $2::text, kairos.now()
  from cancelled c join target t on t.id = c.id where c.status = 'cancelled'
)
select t.id, t.completed_at is null as live, t.status = 'executing' as running,
       kairos.job_state(t.status, t.eligible_at, kairos.now()) as state
from target t
