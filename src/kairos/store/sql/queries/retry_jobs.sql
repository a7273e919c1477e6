-- retry_jobs: nothing -> runnable: new jobs with the first input of settled ones, at their first step ($4, or as their
-- machine was registered, or the step of the first history row where nobody knows the machine) and for as long as they
-- could wait (or $5, or as their machine says). $2 asks for it, over request $3 and within trace $6.
-- Guard: the old jobs have ended; a unique key that is taken makes no job. Index: gen_durable_pkey, history_pkey.
with old as materialized (
  select g.*, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state_name,
    coalesce($4::text, m.step) as first_step, coalesce(g.ttl, $5::interval, m.ttl) as wait
  from kairos.gen_durable g
  left join kairos.machines m on m.name = g.fsm and m.version = g.fsm_version
  where g.id = any ($1::bigint[])
), inserted as (
  insert into kairos.gen_durable (
    fsm, fsm_version, step, state, queue, priority, partition_key, ordered, eligible_at, expires_at, ttl,
    unique_key, unique_scope, retry_of, tags, max_reaps, retry, redact, created_by, request_id, trace,
    inserted_at, updated_at
  )
  select o.fsm, o.fsm_version,
         coalesce(o.first_step, (select h.step from kairos.history h where h.job_id = o.id order by h.id limit 1), o.step),
         coalesce(o.input, o.state), o.queue, o.priority, o.partition_key, o.ordered,
         kairos.now(), kairos.now() + o.wait, o.wait,
         o.unique_key, o.unique_scope, o.id, o.tags, o.max_reaps, o.retry, o.redact, $2::text, $3::text, $6::text,
         kairos.now(), kairos.now()
  from old o where o.completed_at is not null
  order by o.unique_key, o.id
  on conflict (unique_guard) where unique_guard is not null do nothing
  returning id, retry_of
)
select o.id, o.queue, o.state_name as state, o.completed_at is not null as ended, i.id is not null as done, i.id as made,
       (select h.id from kairos.gen_durable h where h.unique_guard = o.unique_key) as holder
from old o left join inserted i on i.retry_of = o.id
