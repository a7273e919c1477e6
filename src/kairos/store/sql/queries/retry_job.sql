-- retry_job: nothing -> runnable: a new job with the first input of a settled one, at its first step ($2, or as its
-- machine was registered, or the step of its first history row where nobody knows the machine) and for as long as it
-- could wait (or $3). $4 asks for it, over request $5 and within trace $6.
-- Guard: the old job has ended; its unique key must be free. Index: gen_durable_pkey, history_pkey.
with old as materialized (
  select g.*, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state_name
  from kairos.gen_durable g where g.id = $1::bigint
), inserted as (
  insert into kairos.gen_durable (
    fsm, fsm_version, step, state, queue, priority, partition_key, ordered, eligible_at, expires_at, ttl,
    unique_key, unique_scope, retry_of, tags, max_reaps, redact, created_by, request_id, trace,
    inserted_at, updated_at
  )
  select o.fsm, o.fsm_version,
         coalesce($2::text,
           (select m.step from kairos.machines m where m.name = o.fsm and m.version = o.fsm_version),
           (select h.step from kairos.history h where h.job_id = o.id order by h.id limit 1), o.step),
         coalesce(o.input, o.state), o.queue, o.priority, o.partition_key, o.ordered,
         kairos.now(), kairos.now() + coalesce(o.ttl, $3::interval), coalesce(o.ttl, $3::interval),
         o.unique_key, o.unique_scope, o.id, o.tags, o.max_reaps, o.redact, $4::text, $5::text, $6::text,
         kairos.now(), kairos.now()
  from old o where o.completed_at is not null
  on conflict (unique_guard) where unique_guard is not null do nothing
  returning id
)
select o.id as old_id, o.state_name as state, o.completed_at is not null as ended, o.fsm, o.fsm_version,
       (select id from inserted) as id,
       (select h.id from kairos.gen_durable h where h.unique_guard = o.unique_key) as holder
from old o
