-- read_history: what was committed for one job, in order. Index: history_pkey.
select h.id, h.verb, h.from_state, h.to_state, h.step, h.attempt, h.worker, h.actor, h.reason, h.started_at, h.at
from kairos.history h
where h.job_id = $1::bigint
order by h.id
