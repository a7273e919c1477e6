-- insert_jobs: nothing -> runnable, a batch in one statement; a taken unique key inserts nothing.
-- Guard: the unique index on unique_guard, which sees both the table and the batch itself. Ids follow the order of
-- the batch; rows go in by the order of their unique keys, so that two batches take them in the same order.
-- A row that is due and behind another of its key joins the line on hold, out of the pick index; if that line runs
-- empty while it is inserted, the sweep lets it in. Index: gen_durable_held, gen_durable_key_line.
with input as materialized (
  select
    nextval('kairos.gen_durable_id_seq') as id, u.*,
    coalesce(u.run_at, kairos.now() + u.delay * interval '1 microsecond', kairos.now()) as eligible_at,
    convert_to(u.unique_name, 'UTF8') as unique_key
  from unnest(
    $1::text::text[], $2::text::int[], $3::text::text[], $4::text::text[], $5::text::text[], $6::text::smallint[],
    $7::text::text[], $8::text::boolean[], $9::text::timestamptz[], $10::text::bigint[], $11::text::bigint[],
    $12::text::timestamptz[], $13::text::text[], $14::text::text[], $15::text::bigint[], $16::text::text[],
    $17::text::text[], $18::text::smallint[], $19::text::text[], $20::text::text[], $21::text::text[], $22::text::text[],
    $23::text::text[]
  ) as u (
    fsm, fsm_version, step, state, queue, priority, partition_key, ordered,
    run_at, delay, ttl, expires_at, unique_name, unique_scope,
    reply_to, reply_name, tags, max_reaps, created_by, request_id, trace, redact, retry
  )
), line as materialized (
  select i.id, i.partition_key, i.priority, i.eligible_at,
    row_number() over (partition by i.partition_key order by i.priority, i.eligible_at, i.id) as place
  from input i
  where i.partition_key is not null and i.eligible_at <= kairos.now()
), behind as (
  -- Probes by LATERAL, in the order of their index: an EXISTS may be hashed over every line there is, and where one
  -- line is most of the table, a plain LIMIT looks for it row by row.
  select l.id from line l
  left join lateral (
    select g.id from kairos.gen_durable g
    where g.partition_key = l.partition_key and g.status = 'runnable'
      and g.priority = l.priority and g.eligible_at <= l.eligible_at
    order by g.eligible_at limit 1
  ) equal on true
  left join lateral (
    select g.id from kairos.gen_durable g
    where g.partition_key = l.partition_key and g.status = 'runnable' and g.held
      and (g.priority, g.eligible_at) <= (l.priority, l.eligible_at)
    order by g.priority, g.eligible_at limit 1
  ) held on true
  where l.place > 1 or equal.id is not null or held.id is not null
), inserted as (
  insert into kairos.gen_durable (
    id, fsm, fsm_version, step, state, queue, priority, partition_key, ordered, held, eligible_at, expires_at, ttl,
    unique_key, unique_scope, reply_to, reply_name, tags, max_reaps, created_by, request_id, trace, redact, retry,
    inserted_at, updated_at
  ) overriding system value
  select
    i.id, i.fsm, i.fsm_version, i.step, i.state::jsonb, i.queue, i.priority, i.partition_key,
    coalesce(i.ordered, false), i.id in (select behind.id from behind),
    i.eligible_at, coalesce(i.expires_at, i.eligible_at + i.ttl * interval '1 microsecond'),
    coalesce(i.expires_at - i.eligible_at, i.ttl * interval '1 microsecond'),
    i.unique_key, coalesce(i.unique_scope::kairos.durable_status[], '{}'), i.reply_to, i.reply_name,
    coalesce(i.tags::text[], '{}'), i.max_reaps, i.created_by, i.request_id, i.trace, i.redact::text[], i.retry::jsonb,
    kairos.now(), kairos.now()
  from input i
  order by i.unique_key, i.id
  on conflict (unique_guard) where unique_guard is not null do nothing
  returning id, unique_key, expires_at
)
select
  case when n.id is not null then n.id else coalesce(
    (select same.id from inserted same where same.unique_key = i.unique_key),
    (select holder.id from kairos.gen_durable holder where holder.unique_guard = i.unique_key)
  ) end as id,
  n.id is not null as is_new, i.eligible_at, n.expires_at, kairos.now() as inserted_at,
  kairos.job_state('runnable', i.eligible_at, kairos.now()) as state
from input i
left join inserted n on n.id = i.id
order by i.id
