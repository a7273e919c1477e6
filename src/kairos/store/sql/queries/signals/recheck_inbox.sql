-- recheck_inbox: awaiting_signal -> runnable for the jobs just parked that have a signal their step did not see. $2 are
-- the signals that the steps saw: those do not wake a job.
-- Guard: a separate statement after park_jobs in the same transaction, so that its snapshot is newer than the row locks
-- of park_jobs.
-- Index: signals_inbox.
with woken as (
  update kairos.gen_durable g set
    status = 'runnable', eligible_at = kairos.now(), awaits = null, await_until = null, await_then = null,
    updated_at = kairos.now()
  where g.id = any ($1::bigint[]) and g.status = 'awaiting_signal'
    and exists (
      select from kairos.signals s
      where s.target_id = g.id and s.consumed_at is null and s.name = any (g.awaits) and s.id <> all ($2::bigint[])
    )
  returning g.id, g.step, g.attempt, g.queue
), recorded as (
  insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, reason, at)
  select w.id, 'wake', 'waiting', 'pending', w.step, w.attempt, 'the signal came before the park', kairos.now()
  from woken w
)
select w.id from woken w
