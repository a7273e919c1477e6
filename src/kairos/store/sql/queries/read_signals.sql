-- read_signals: everything ever sent to one job, in order. Index: signals_target_id_dedup_key_key.
select s.id, s.name, s.payload::text as payload, s.dedup_key, s.inserted_at, s.consumed_at
from kairos.signals s
where s.target_id = $1::bigint
order by s.id
