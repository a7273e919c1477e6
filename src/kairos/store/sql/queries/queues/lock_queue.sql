-- lock_queue: locks a queue that has a limit over all workers, for one picker at a time; returns no row if another
-- picker has it. Never waits. It takes an advisory lock, whose session pg_locks shows (for end_frozen_sessions), and a
-- row lock, which is all that workers of the previous release take.
with free as materialized (
  select q.name from kairos.queues q where q.name = $1 for no key update skip locked
)
select free.name from free where pg_try_advisory_xact_lock(hashtextextended('queue ' || free.name, 7741))
