-- read_signals: all signals of one job, in order. Selects the job's signals first and then sorts them: in the other
-- order a plan might search the signals of all jobs.
-- Index: signals_target_id_dedup_key_key.
select s.id, s.name, s.payload::text as payload, s.dedup_key, s.inserted_at, s.consumed_at
from (select * from kairos.signals o where o.target_id = $1::bigint offset 0) s
order by s.id
