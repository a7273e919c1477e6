-- cancel_jobs: runnable, awaiting_signal -> cancelled, a batch; for running jobs it records a request that their steps
-- honour. The new values are computed from the row itself and not from `target`: if the row changed while the statement
-- waited for its lock, Postgres would check the constraints against values computed from the old row.
-- Guard: live jobs. The jobs that they reply to are locked with them, in the order of ids, because the replies are
-- delivered there.
-- Index: gen_durable_pkey.
with family as materialized (
  select g.id, g.status, g.eligible_at, g.completed_at, g.partition_key
  from kairos.gen_durable g
  where g.id = any (array(
    select unnest($1::bigint[])
    union select c.reply_to from kairos.gen_durable c where c.id = any ($1::bigint[]) and c.reply_to is not null))
  order by g.id
  for no key update
), target as (
  select f.* from family f where f.id = any ($1::bigint[])
), cancelled as (
  update kairos.gen_durable g set
    status = case when g.status = 'executing' then 'executing' else 'cancelled' end::kairos.durable_status,
    held = false,
    completed_at = case when g.status = 'executing' then null else kairos.now() end,
    cancel_requested_at = coalesce(g.cancel_requested_at, kairos.now()),
    cancel_reason = coalesce(g.cancel_reason, $2::text),
    updated_at = case when g.status = 'executing' then g.updated_at else kairos.now() end
  from target t where g.id = t.id and t.completed_at is null
  returning g.id, g.step, g.attempt, g.status
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, actor, reason, at)
  select c.id, 'cancel', kairos.job_state(t.status, t.eligible_at, kairos.now()), 'cancelled', c.step, c.attempt,
         $3::text, $2::text, kairos.now()
  from cancelled c join target t on t.id = c.id where c.status = 'cancelled'
)
select t.id, t.completed_at is null as done, t.completed_at is null and t.status = 'executing' as running,
       kairos.job_state(t.status, t.eligible_at, kairos.now()) as state,
       case when t.status = 'runnable' then t.partition_key end as freed_key
from target t
