-- queue_gate: one row `gate` if jobs of queue $1 may be picked: the queue is not paused, and has no limit or $5 says
-- that the caller was admitted.
gate as materialized (
  select from (values (true)) as v
  where not exists (
    select from kairos.queues q
    where q.name = $1
      and (q.paused_at is not null or (not $5::boolean and (q.concurrency is not null or q.rate_limit is not null)))
  )
)
