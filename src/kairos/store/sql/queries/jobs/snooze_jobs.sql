-- snooze_jobs: postpones jobs by $2 from now or until $3, a batch: scheduled, pending -> scheduled. $4 is the reason,
-- $5 the actor. The time at which a job expires does not change. A job that is held behind another of its key is no
-- longer held, since it is not due.
-- Guard: runnable; the new time is in the future, later than the old one, and before the job expires.
-- Index: gen_durable_pkey.
with target as materialized (
  select g.id, g.status, g.eligible_at, g.expires_at, g.queue, g.partition_key,
         kairos.job_state(g.status, g.eligible_at, kairos.now()) as state,
         coalesce($3::timestamptz, kairos.now() + $2::interval) as until
  from kairos.gen_durable g where g.id = any ($1::bigint[])
  order by g.id
  for no key update
), judged as (
  select t.*, case
    when t.status <> 'runnable' then null
    when t.until <= kairos.now() then 'that time is not in the future, so choose a later one'
    when t.until <= t.eligible_at then 'it is not due before that time, so choose a later one or edit its time'
    when t.until >= t.expires_at then 'it expires by then, so choose an earlier time or edit its expiry'
  end as why
  from target t
), moved as (
  update kairos.gen_durable g set eligible_at = j.until, held = false, updated_at = kairos.now()
  from judged j where g.id = j.id and j.status = 'runnable' and j.why is null
  returning g.id, g.step, g.attempt
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, actor, reason, at)
  select m.id, 'snooze', j.state, 'scheduled', m.step, m.attempt, $5::text, $4::text, kairos.now()
  from moved m join judged j on j.id = m.id
)
select j.id, j.queue, j.state, j.why, m.id is not null as done, j.partition_key as freed_key
from judged j left join moved m on m.id = j.id
