-- lock_queue: locks a queue that has a limit over all workers, for one picker at a time; returns no row if another picker
-- has it. Never waits. pg_locks shows which session has the advisory lock (end_frozen_sessions); the row lock keeps out
-- workers of the previous release, which take only that one.
with free as materialized (
  select q.name from kairos.queues q where q.name = $1 for no key update skip locked
)
select free.name from free where pg_try_advisory_xact_lock(hashtextextended('queue ' || free.name, 7741))
