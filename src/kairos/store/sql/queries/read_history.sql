-- read_history: what was committed for one job, in order: at most $3 rows after row $2 (null: from the first, and all).
-- Compared by rows: by an equality the order would be that of ids, and a plan might walk the history of all jobs.
-- Index: history_pkey.
select h.id, h.verb, h.from_state, h.to_state, h.step, h.attempt, h.worker, h.actor, h.reason, h.started_at, h.at
from kairos.history h
where (h.job_id, h.id) > ($1::bigint, coalesce($2::bigint, 0)) and (h.job_id, h.id) <= ($1::bigint, 9223372036854775807)
order by h.job_id, h.id
limit $3::int
