-- read_history: the history of one job, in order. Compared as rows: with equality, ids alone would define the order,
-- and a plan might walk the history of all jobs.
-- Index: history_pkey.
select
  {history_columns}
from kairos.history h
where (h.job_id, h.id) > ($1::bigint, 0) and (h.job_id, h.id) <= ($1::bigint, 9223372036854775807)
order by h.job_id, h.id
