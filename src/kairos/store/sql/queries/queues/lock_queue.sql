-- lock_queue: one picker at a time of a queue that has a limit over all workers; answers nothing if another has it.
-- Never waits. The advisory lock shows in pg_locks which session has it (end_frozen_sessions); the row's lock keeps out
-- workers of the release before, which know no other.
with free as materialized (
  select q.name from kairos.queues q where q.name = $1 for no key update skip locked
)
select free.name from free where pg_try_advisory_xact_lock(hashtextextended('queue ' || free.name, 7741))
