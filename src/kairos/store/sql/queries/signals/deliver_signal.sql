-- deliver_signal: awaiting_signal -> runnable if the job waits for the signal; stores it in the inbox in any case,
-- unless the inbox is full.
-- Guard: a live job, found by id ($1) or by the unique key it holds ($2).
-- Index: gen_durable_unique.
select found.id, case when found.id is null then 'unknown'
  else kairos.put_signal(found.id, $3::text, $4::text::jsonb, $5::text, $6::text) end as answer,
  kairos.inbox_signals() as most_signals, kairos.inbox_bytes() as most_bytes
from (values (coalesce($1::bigint, (select g.id from kairos.gen_durable g where g.unique_guard = $2::bytea)))) as found (id)
