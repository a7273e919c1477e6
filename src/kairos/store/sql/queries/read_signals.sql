-- read_signals: everything ever sent to one job, in order: at most $3 after signal $2 (null: from the first, and all).
-- All of the job, and then the page: the other way round, a plan might look for them among the signals of all jobs.
-- Index: signals_target_id_dedup_key_key.
select s.id, s.name, s.payload::text as payload, s.dedup_key, s.inserted_at, s.consumed_at
from (select * from kairos.signals o where o.target_id = $1::bigint offset 0) s
where s.id > coalesce($2::bigint, 0)
order by s.id
limit $3::int
