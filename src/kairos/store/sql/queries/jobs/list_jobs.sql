-- list_jobs: jobs that pass every filter that is not null, newest first, before id $1, out of about $3 that are read in
-- the index of the narrowest filter. That index is read in as many lines as there are kinds of jobs (queue, action,
-- status) to be merged; each line gets an equal share, at least a page. What is older than the end of a line that was
-- cut is left for the next page: `walked` is the last id looked at, `walked_at` when it was accepted, `more` whether
-- there is anything older. If nothing is found there is one row without an id. Filters are compared as rows and not
-- column by column: with equality, ids alone would define the order, and a plan might walk all jobs.
-- Parameters: $2 only these ids, $4 page size, $5 whole jobs or only ids, $6 stored statuses; then the filters in the
-- order of kairos.shapes.job_filters: $7 states, $8 action, $9 queue, $10 key, $11 tag, $12 schedule, $13 text, $14
-- from, $15 to, $16 parent, $17 input (path:value, any path where it is *), $18 error, $19 retry of, $20
-- words of the error.
-- Index: gen_durable_pkey, and that of the filter.
with recursive range as materialized (
  -- Room for transactions that inserted late. Every row in it is walked, so it is not large.
  select coalesce(least($1::bigint, kairos.id_at($15::timestamptz + interval '5 seconds')), 9223372036854775807) as below,
         coalesce(kairos.id_at($14::timestamptz - interval '5 seconds'), 0) as first
), path as materialized (
  select case
    when $2::bigint[] is not null then 'ids' when $18::text is not null then 'error' when $16::bigint is not null then 'parent'
    when $19::bigint is not null then 'retry'
    when $10::text is not null then 'key' when $12::text is not null then 'schedule'
    when $6::text[] is not null or $8::text is not null or $9::text is not null then 'kinds' else 'all' end as name
), wanted as materialized (
  select s as status
  from unnest(coalesce($6::text[]::kairos.durable_status[], enum_range(null::kairos.durable_status))) s
),
{kinds_in_use: queue=$9; action=$8},
kinds as materialized (
  select p.queue, p.fsm, w.status, newest.id from pairs p cross join wanted w
  cross join lateral (
    select g.id from kairos.gen_durable g
    where g.status <> 'executing'
      and (g.queue, g.fsm, g.status, g.id) < (p.queue, p.fsm, w.status, (select below from range))
      and (g.queue, g.fsm, g.status, g.id) >= (p.queue, p.fsm, w.status, (select first from range))
    order by g.queue desc, g.fsm desc, g.status desc, g.id desc limit 1
  ) newest
  where p.fsm is not null and w.status <> 'executing'
), floor as materialized (
  -- Where there are more lines than are to be looked at, the newest of each are enough: nothing older is read.
  select k.id from kinds k order by k.id desc offset $3::int - 1 limit 1
), share as materialized (
  select greatest($4::int, $3::int / greatest(1, case p.name
    when 'kinds' then (select count(*) from kinds)
    when 'all' then 1 when 'ids' then 1 when 'error' then 1 else (select count(*) from wanted) end))::int as most
  from path p
), walk as materialized (
  (select 'ids' as line, u.id from unnest($2::bigint[]) as u (id), range r
   where u.id < r.below and u.id >= r.first order by u.id desc limit $3::int)
  union all
  (select 'error', g.id from kairos.gen_durable g
   where (select p.name from path p) = 'error' and g.error_group is not null
     and (g.error_group, g.id) < ($18::text, (select below from range))
     and (g.error_group, g.id) >= ($18::text, (select first from range))
   order by g.error_group desc, g.id desc limit (select most from share))
  union all
  {walk_by_status: path=parent; column=reply_to; value=$16::bigint}
  union all
  {walk_by_status: path=retry; column=retry_of; value=$19::bigint}
  union all
  {walk_by_status: path=key; column=partition_key; value=$10::text}
  union all
  {walk_by_status: path=schedule; column=schedule; value=$12::text}
  union all
  select each.* from kinds k
  cross join lateral (
    select k.queue || chr(31) || k.fsm || chr(31) || k.status, g.id from kairos.gen_durable g
    where g.status <> 'executing'
      and (g.queue, g.fsm, g.status, g.id) <= (k.queue, k.fsm, k.status, k.id)
      and (g.queue, g.fsm, g.status, g.id)
        >= (k.queue, k.fsm, k.status, greatest((select first from range), (select f.id from floor f)))
    order by g.queue desc, g.fsm desc, g.status desc, g.id desc limit (select most from share)
  ) each
  union all
  (select 'executing', e.id from (
     -- All of them, and then the newest: the other way round, a plan might look for them among all jobs.
     select g.id from kairos.gen_durable g
     where g.status = 'executing' and (select p.name from path p) = 'kinds'
       and exists (select from wanted w where w.status = 'executing')
       and ($8::text is null or g.fsm = $8::text) and ($9::text is null or g.queue = $9::text)
     offset 0
   ) e
   where e.id < (select below from range) and e.id >= (select first from range)
   order by e.id desc limit (select most from share))
  union all
  (select 'all', g.id from kairos.gen_durable g
   where (select p.name from path p) = 'all' and g.id < (select below from range) and g.id >= (select first from range)
   order by g.id desc limit (select most from share))
), ended as materialized (
  select greatest(max(l.oldest), (select f.id from floor f)) as walked
  from (select min(w.id) as oldest, count(*) as n from walk w group by w.line) l
  where l.n >= (select most from share)
), newest as materialized (
  select w.id from walk w where w.id >= coalesce((select e.walked from ended e), 0) order by w.id desc
), matched as materialized (
  select n.id from newest n
  cross join lateral (
    select from kairos.gen_durable g
    where g.id = n.id
      and ($7::text[] is null or kairos.job_state(g.status, g.eligible_at, kairos.now()) = any ($7::text[]))
      and ($8::text is null or g.fsm = $8::text)
      and ($9::text is null or g.queue = $9::text)
      and ($10::text is null or g.partition_key = $10::text)
      and ($11::text is null or $11::text = any (g.tags))
      and ($12::text is null or g.schedule = $12::text)
      and ($14::timestamptz is null or g.inserted_at >= $14::timestamptz)
      and ($15::timestamptz is null or g.inserted_at < $15::timestamptz)
      and ($16::bigint is null or g.reply_to = $16::bigint)
      and ($18::text is null or g.error_group = $18::text)
      and ($19::bigint is null or g.retry_of = $19::bigint)
      and ($20::text is null or (g.error_group is not null
        and to_tsvector('simple', left(g.last_error, 1000)) @@ plainto_tsquery('simple', $20::text)))
      and ($13::text is null or strpos(lower(g.fsm), lower($13::text)) > 0 or strpos(lower(g.partition_key), lower($13::text)) > 0
           or strpos(lower(g.last_error), lower($13::text)) > 0
           or strpos(lower(convert_from(g.unique_key, 'UTF8')), lower($13::text)) > 0
           or exists (select from unnest(g.tags) as t (tag) where strpos(lower(t.tag), lower($13::text)) > 0))
      and ($17::text[] is null or not exists (
        -- What nobody is shown cannot be guessed by searching for it either.
        select from unnest($17::text[]) as i (entry)
        cross join lateral (select split_part(i.entry, ':', 1) as path, substr(i.entry, strpos(i.entry, ':') + 1) as value) a
        cross join lateral (
          select g.redact || (
            select m.redact from kairos.machines m where m.name = g.fsm and m.version = g.fsm_version) as fields
        ) r
        -- Text first: to take the input apart costs twenty times as much. A quote is stored otherwise than it is given.
        where not case
            when not (strpos(coalesce(g.input, g.state)::text, a.value) > 0 or a.value ~ '["\\]') then false
            when a.path <> '*' then a.value = any (kairos.argument_values(coalesce(g.input, g.state), a.path))
            when r.fields <> '{}' then exists (
              select from unnest(g.search) as s (entry) where substr(s.entry, strpos(s.entry, ':') + 1) = left(a.value, 200))
            else exists (
              select from jsonb_path_query(coalesce(g.input, g.state), '$.**') v
              where jsonb_typeof(v) in ('string', 'number', 'boolean') and v #>> '{}' = a.value) end
          or exists (
            select from unnest(r.fields) as f (field) where a.path = f.field or starts_with(a.path, f.field || '.'))))
    offset 0
  ) passes
  order by n.id desc limit $4::int
)
select
  {job_columns: whole=$5::boolean},
  ended.walked, ended.walked is not null as more,
  (select j.inserted_at from kairos.gen_durable j where j.id = ended.walked) as walked_at
from ended
left join matched on true
left join lateral (select * from kairos.gen_durable j where j.id = matched.id limit 1) g on true
order by g.id desc
