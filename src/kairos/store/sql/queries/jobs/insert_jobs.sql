-- insert_jobs: nothing -> runnable, a batch in one statement; a job whose unique key is taken is not inserted. Ids
-- follow the order of the batch.
-- Guard: the unique index on unique_guard, which covers the table and the batch itself.
-- Index: gen_durable_held, gen_durable_key_line.
with job as materialized (
  select
    i.id, i.fsm, i.fsm_version, i.step, i.state::jsonb, i.queue, i.priority, i.partition_key, i.ordered, i.eligible_at,
    coalesce(i.expires_at, i.eligible_at + i.ttl) as expires_at, coalesce(i.expires_at - i.eligible_at, i.ttl) as ttl,
    convert_to(i.unique_name, 'UTF8') as unique_key, i.unique_scope::kairos.durable_status[], i.reply_to, i.reply_name,
    i.tags::text[], i.max_reaps, i.created_by, i.request_id, i.trace, i.redact::text[], i.retry::jsonb,
    case when i.search is not null then kairos.search_entries(i.state::jsonb, i.search::text[]) end as search,
    i.retry_of, null::text as schedule, null::timestamptz as tick_at
  from (
    select
      nextval((select kairos.job_ids())) as id, u.*, u.length * interval '1 microsecond' as ttl,
      coalesce(u.run_at, kairos.now() + u.delay * interval '1 microsecond', kairos.now()) as eligible_at
    from unnest(
      $1::text::text[], $2::text::int[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::smallint[],
      $7::text::text[], $8::text::boolean[], $9::text::timestamptz[], $10::text::bigint[], $11::text::bigint[],
      $12::text::timestamptz[], $13::text::text[], $14::text::text[], $15::text::bigint[], $16::text::text[],
      $17::text::text[], $18::text::smallint[], $19::text::text[], $20::text::text[], $21::text::text[],
      $22::text::text[], $23::text::text[], $24::text::text[], $25::text::bigint[]
    ) as u (
      fsm, fsm_version, step, state, queue, priority, partition_key, ordered,
      run_at, delay, length, expires_at, unique_name, unique_scope,
      reply_to, reply_name, tags, max_reaps, created_by, request_id, trace, redact, retry, search, retry_of
    )
  ) i
),
{insert_job_rows}
select
  case when n.id is not null then n.id else coalesce(
    (select same.id from inserted same where same.unique_key = j.unique_key),
    (select holder.id from kairos.gen_durable holder where holder.unique_guard = j.unique_key)
  ) end as id,
  n.id is not null as is_new, j.eligible_at, n.expires_at, kairos.now() as inserted_at,
  kairos.job_state('runnable', j.eligible_at, kairos.now()) as state
from job j
left join inserted n on n.id = j.id
order by j.id
