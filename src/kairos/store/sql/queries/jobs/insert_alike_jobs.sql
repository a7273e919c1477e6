-- insert_alike_jobs: nothing -> runnable, one job or many of one action with the same options and neither a partition
-- key nor a unique key: insert_jobs for the most common calls, at half its cost. $4 are the states of the jobs; ids
-- follow their order.
-- Guard: the lifecycle's trigger on new rows.
with time as materialized (
  select coalesce($7::text::timestamptz, kairos.now() + $8::text::bigint * interval '1 microsecond', kairos.now()) as due_at,
    $9::text::bigint * interval '1 microsecond' as ttl
), inserted as (
  insert into kairos.gen_durable (
    id, fsm, fsm_version, step, state, queue, priority, eligible_at, expires_at, ttl, reply_to, reply_name, tags, max_reaps,
    created_by, request_id, trace, redact, retry, inserted_at, updated_at
  ) overriding system value
  select
    nextval((select kairos.job_ids())), $1::text, $2::text::int, $3::text, given.state::jsonb, $5::text, $6::text::smallint, t.due_at,
    coalesce($10::text::timestamptz, t.due_at + t.ttl), coalesce($10::text::timestamptz - t.due_at, t.ttl),
    $11::text::bigint, $12::text, coalesce($13::text::text[], '{}'), $14::text::smallint,
    $15::text, $16::text, $17::text, $18::text::text[], $19::text::jsonb, kairos.now(), kairos.now()
  from time t cross join unnest($4::text::text[]) as given (state)
  returning id
)
select array(select n.id from inserted n order by n.id) as ids, t.due_at as eligible_at,
  coalesce($10::text::timestamptz, t.due_at + t.ttl) as expires_at, kairos.now() as inserted_at,
  kairos.job_state('runnable', t.due_at, kairos.now()) as state
from time t
