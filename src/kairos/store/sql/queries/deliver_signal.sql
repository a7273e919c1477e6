-- deliver_signal: awaiting_signal -> runnable if the job waits for it; the inbox in any case.
-- Guard: a live job, found by id ($1) or by the unique key it holds ($2). Index: gen_durable_unique.
select found.id, case when found.id is null then 'unknown'
  else kairos.deliver(found.id, $3::text, $4::text::jsonb, $5::text, $6::text) end as answer
from (values (coalesce($1::bigint, (select g.id from kairos.gen_durable g where g.unique_guard = $2::bytea)))) as found (id)
