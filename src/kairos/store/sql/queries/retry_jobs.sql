-- retry_jobs: nothing -> runnable: retry_job for a batch. $2 asks for it, over request $3.
-- Guard: the old jobs have ended; a unique key that is taken makes no job. Index: gen_durable_pkey, history_pkey.
with old as materialized (
  select g.*, m.step as first_step, coalesce(g.ttl, m.ttl) as wait
  from kairos.gen_durable g
  left join kairos.machines m on m.name = g.fsm and m.version = g.fsm_version
  where g.id = any ($1::bigint[])
), inserted as (
  insert into kairos.gen_durable (
    fsm, fsm_version, step, state, queue, priority, partition_key, ordered, eligible_at, expires_at, ttl,
    unique_key, unique_scope, retry_of, tags, max_reaps, redact, created_by, request_id, inserted_at, updated_at
  )
  select o.fsm, o.fsm_version,
         coalesce(o.first_step, (select h.step from kairos.history h where h.job_id = o.id order by h.id limit 1), o.step),
         coalesce(o.input, o.state), o.queue, o.priority, o.partition_key, o.ordered,
         kairos.now(), kairos.now() + o.wait, o.wait,
         o.unique_key, o.unique_scope, o.id, o.tags, o.max_reaps, o.redact, $2::text, $3::text, kairos.now(), kairos.now()
  from old o where o.completed_at is not null
  order by o.unique_key, o.id
  on conflict (unique_guard) where unique_guard is not null do nothing
  returning retry_of
)
select o.id, o.queue, i.retry_of is not null as done from old o left join inserted i on i.retry_of = o.id
