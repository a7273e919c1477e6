-- read_history: the history of one job, in order. Compared as rows: with equality, ids alone would define the order, and
-- a plan might walk the history of all jobs.
-- Index: history_pkey.
select h.id, h.verb, h.from_state, h.to_state, h.step, h.attempt, h.worker, h.actor, h.reason, h.due_at, h.started_at,
  h.at, h.state::text as state
from kairos.history h
where (h.job_id, h.id) > ($1::bigint, 0) and (h.job_id, h.id) <= ($1::bigint, 9223372036854775807)
order by h.job_id, h.id
