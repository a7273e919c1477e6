-- insert_job_rows: the INSERT of jobs that several statements share. They define `job`, with the columns read here;
-- `inserted` are the rows that were inserted: all but those whose unique key is taken. A due job behind another job of
-- its key is inserted as held, outside the pick index; if the other job leaves at the same time, the sweeper releases
-- it. Rows are inserted in the order of their unique keys, so that two batches lock them in the same order.
line as materialized (
  select j.id, j.partition_key, j.priority, j.eligible_at,
    row_number() over (partition by j.partition_key order by j.priority, j.eligible_at, j.id) as place
  from job j
  where j.partition_key is not null and j.eligible_at <= kairos.now()
), behind as (
  -- LATERAL lookups in the order of their index: an EXISTS may be hashed over all waiting jobs with a key, and if
  -- one key has most of the table, a LIMIT without ORDER BY searches it row by row.
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
    unique_key, unique_scope, reply_to, reply_name, retry_of, schedule, tick_at, tags, max_reaps, created_by, request_id,
    trace, redact, retry, search, inserted_at, updated_at
  ) overriding system value
  select
    j.id, j.fsm, j.fsm_version, j.step, j.state, j.queue, j.priority, j.partition_key, coalesce(j.ordered, false),
    j.id in (select behind.id from behind), j.eligible_at, j.expires_at, j.ttl,
    j.unique_key, coalesce(j.unique_scope, '{}'), j.reply_to, j.reply_name, j.retry_of, j.schedule, j.tick_at,
    coalesce(j.tags, '{}'), coalesce(j.max_reaps, 5), j.created_by, j.request_id, j.trace, j.redact, j.retry, j.search,
    kairos.now(), kairos.now()
  from job j
  order by j.unique_key, j.id
  on conflict (unique_guard) where unique_guard is not null do nothing
  returning id, queue, unique_key, expires_at, retry_of
)
