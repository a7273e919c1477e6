-- list_jobs: newest first, before id $1: the jobs that pass every filter that is not null, out of at most $13 that are
-- walked in the index of the narrowest filter given. Each row tells how far the walk came (`walked`) and whether it
-- stopped for its length (`more`); one row without an id where nothing was found.
-- $2 stored statuses, $3 states, $4 action, $5 queue, $6 key, $7 tag, $8 schedule, $9 text, $10 from, $11 to, $12 among
-- these ids, $14 how many, $15 whole jobs or only ids.
-- Compared by rows, not column by column: in equalities the order would be that of ids, and a plan might walk all jobs.
-- Index: gen_durable_pkey, and that of the filter.
with recursive range as materialized (
  -- Room for transactions that inserted late. Every row in it is walked, so it is not large.
  select coalesce(least($1::bigint, kairos.id_at($11::timestamptz + interval '5 seconds')), 9223372036854775807) as below,
         coalesce(kairos.id_at($10::timestamptz - interval '5 seconds'), 0) as first
), wanted as materialized (
  select s as status from unnest(coalesce($2::text[]::kairos.durable_status[], enum_range(null::kairos.durable_status))) s
  where $12::bigint[] is null and $6::text is null and $8::text is null and ($2::text[] is not null or $4::text is not null)
), kinds as (
  select w.status, coalesce($4::text, (
    select g.fsm from kairos.gen_durable g
    where g.status = w.status and g.status <> 'executing' order by g.status, g.fsm limit 1)) as fsm
  from wanted w where w.status <> 'executing'
  union all
  select k.status, (
    select g.fsm from kairos.gen_durable g
    where g.status = k.status and g.status <> 'executing' and g.fsm > k.fsm order by g.status, g.fsm limit 1)
  from kinds k where k.fsm is not null and $4::text is null
), walk as materialized (
  (select u.id from unnest($12::bigint[]) as u (id), range r
   where u.id < r.below and u.id >= r.first order by u.id desc limit $13::int)
  union all
  (select g.id from kairos.gen_durable g
   where $12::bigint[] is null and $6::text is not null and g.partition_key is not null
     and (g.partition_key, g.id) < ($6::text, (select below from range))
     and (g.partition_key, g.id) >= ($6::text, (select first from range))
   order by g.partition_key desc, g.id desc limit $13::int)
  union all
  (select g.id from kairos.gen_durable g
   where $12::bigint[] is null and $6::text is null and $8::text is not null and g.schedule is not null
     and (g.schedule, g.id) < ($8::text, (select below from range))
     and (g.schedule, g.id) >= ($8::text, (select first from range))
   order by g.schedule desc, g.id desc limit $13::int)
  union all
  select each.id from kinds k
  cross join lateral (
    select g.id from kairos.gen_durable g
    where g.status <> 'executing'
      and (g.status, g.fsm, g.id) < (k.status, k.fsm, (select below from range))
      and (g.status, g.fsm, g.id) >= (k.status, k.fsm, (select first from range))
    order by g.status desc, g.fsm desc, g.id desc limit $13::int
  ) each
  where k.fsm is not null
  union all
  (select e.id from (
     -- All of them, and then the newest: the other way round, a plan might look for them among all jobs.
     select g.id from kairos.gen_durable g
     where g.status = 'executing' and exists (select from wanted w where w.status = 'executing')
       and ($4::text is null or g.fsm = $4::text)
     offset 0
   ) e
   where e.id < (select below from range) and e.id >= (select first from range)
   order by e.id desc limit $13::int)
  union all
  (select g.id from kairos.gen_durable g
   where $12::bigint[] is null and $6::text is null and $8::text is null and $2::text[] is null and $4::text is null
     and g.id < (select below from range) and g.id >= (select first from range)
   order by g.id desc limit $13::int)
), newest as materialized (
  select w.id from walk w order by w.id desc limit $13::int
), matched as materialized (
  select n.id from newest n
  cross join lateral (
    select from kairos.gen_durable g
    where g.id = n.id
      and ($3::text[] is null or kairos.job_state(g.status, g.eligible_at, kairos.now()) = any ($3::text[]))
      and ($4::text is null or g.fsm = $4::text)
      and ($5::text is null or g.queue = $5::text)
      and ($6::text is null or g.partition_key = $6::text)
      and ($7::text is null or $7::text = any (g.tags))
      and ($8::text is null or g.schedule = $8::text)
      and ($10::timestamptz is null or g.inserted_at >= $10::timestamptz)
      and ($11::timestamptz is null or g.inserted_at < $11::timestamptz)
      and ($9::text is null or strpos(lower(g.fsm), lower($9::text)) > 0 or strpos(lower(g.partition_key), lower($9::text)) > 0
           or strpos(lower(g.last_error), lower($9::text)) > 0
           or strpos(lower(convert_from(g.unique_key, 'UTF8')), lower($9::text)) > 0
           or exists (select from unnest(g.tags) as t (tag) where strpos(lower(t.tag), lower($9::text)) > 0))
    offset 0
  ) passes
  order by n.id desc limit $14::int
)
select g.id, g.fsm, g.fsm_version, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state, g.step, g.attempt,
  g.queue, g.priority, g.partition_key, g.tags,
  case when $15::boolean then coalesce(g.input, g.state)::text end as input,
  case when $15::boolean then g.state::text end as machine_state,
  case when $15::boolean then g.result::text end as result, g.error_code, g.last_error,
  case when $15::boolean then g.progress::text end as progress, g.inserted_at, g.eligible_at, g.started_at, g.completed_at,
  g.expires_at, g.cancel_requested_at, g.cancel_reason, g.retry_of, g.reply_to, g.schedule, g.locked_by, g.awaits, g.await_until,
  g.retry::text as retry, g.reaps, g.unique_key, g.held, g.created_by, g.request_id, g.trace,
  g.redact || (select m.redact from kairos.machines m where m.name = g.fsm and m.version = g.fsm_version) as redact,
  ended.walked, ended.more
from (select min(n.id) as walked, count(*) = $13::int as more from newest n) as ended
left join matched on true
left join lateral (select * from kairos.gen_durable j where j.id = matched.id limit 1) g on true
order by g.id desc
