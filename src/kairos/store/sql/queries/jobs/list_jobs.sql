-- list_jobs: jobs that pass every filter that is not null, newest first, before id $1, out of about $3 that are read in
-- the index of the narrowest filter. That index is read as several sorted runs, such as one for each queue, action and
-- status, which are merged; of each run an equal share is read, at least a page. If a run is longer than its share, jobs
-- older than the end of the share are left for the next page: `walked` is the last id examined, `walked_at` when it was
-- accepted, `more` whether there is anything older. A search in inputs also ends after 8 MB of them. If nothing is
-- found there is one row without an id. Filters are compared as rows and not column by column: with equality, ids alone
-- would define the order, and a plan might walk all jobs.
-- Parameters: $2 only these ids, $4 page size, $5 whole jobs or only ids, $6 stored statuses; then the filters in the
-- order of kairos.shapes.job_filters: $7 states, $8 action, $9 queue, $10 key, $11 tag, $12 schedule, $13 text, $14
-- from, $15 to, $16 parent, $17 input (path:value, any path where it is *), $18 error, $19 retry of, $20 words of the
-- error.
-- Index: gen_durable_pkey, and that of the filter.
with recursive range as materialized (
  -- A margin for transactions that inserted their jobs late. Every row in it is examined, so it is small.
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
  -- If there are more kinds than jobs to examine, jobs older than this one are not read.
  select k.id from kinds k order by k.id desc offset $3::int - 1 limit 1
), share as materialized (
  select greatest($4::int, $3::int / greatest(1, case p.name
    when 'kinds' then (select count(*) from kinds)
    when 'all' then 1 when 'ids' then 1 when 'error' then 1 else (select count(*) from wanted) end))::int as most
  from path p
), walk as materialized (
  (select 'ids' as line, u.id, (select g.ctid from kairos.gen_durable g where g.id = u.id) as place
   from unnest($2::bigint[]) as u (id), range r
   where u.id < r.below and u.id >= r.first order by u.id desc limit $3::int)
  union all
  (select 'error', g.id, g.ctid from kairos.gen_durable g
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
    select k.queue || chr(31) || k.fsm || chr(31) || k.status, g.id, g.ctid from kairos.gen_durable g
    where g.status <> 'executing'
      and (g.queue, g.fsm, g.status, g.id) <= (k.queue, k.fsm, k.status, k.id)
      and (g.queue, g.fsm, g.status, g.id)
        >= (k.queue, k.fsm, k.status, greatest((select first from range), (select f.id from floor f)))
    order by g.queue desc, g.fsm desc, g.status desc, g.id desc limit (select most from share)
  ) each
  union all
  (select 'executing', e.id, e.place from (
     -- First all running jobs, then the newest of them: otherwise a plan might search all jobs for them.
     select g.id, g.ctid as place from kairos.gen_durable g
     where g.status = 'executing' and (select p.name from path p) = 'kinds'
       and exists (select from wanted w where w.status = 'executing')
       and ($8::text is null or g.fsm = $8::text) and ($9::text is null or g.queue = $9::text)
     offset 0
   ) e
   where e.id < (select below from range) and e.id >= (select first from range)
   order by e.id desc limit (select most from share))
  union all
  (select 'all', g.id, g.ctid from kairos.gen_durable g
   where (select p.name from path p) = 'all' and g.id < (select below from range) and g.id >= (select first from range)
   order by g.id desc limit (select most from share))
), ended as materialized (
  select greatest(max(l.oldest), (select f.id from floor f)) as walked
  from (select min(w.id) as oldest, count(*) as n from walk w group by w.line) l
  where l.n >= (select most from share)
), newest as materialized (
  select w.id, w.place from walk w where w.id >= coalesce((select e.walked from ended e), 0) order by w.id desc
), passing as materialized (
  select n.id from newest n
  cross join lateral (
    select from kairos.gen_durable g
    where g.ctid = n.place
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
    offset 0
  ) passes
  order by n.id desc limit case when $17::text[] is null then $4::int end
), line as materialized (
  select array_agg(p.id order by p.id desc) as ids from passing p where $17::text[] is not null
), searched (place, id, bytes, found, passes) as (
  -- Reads whole inputs, one job after the other, until they have 8 MB or a page is full.
  select 0, null::bigint, 0::bigint, 0, false
  union all
  select s.place + 1, j.id, s.bytes + j.bytes, s.found + j.passes::int, j.passes
  from searched s
  cross join lateral (
    select g.id, octet_length(i.text) * case when i.is_near then 20 else 1 end as bytes,
      i.is_near and not exists (
        -- Redacted fields cannot be searched: a search would reveal their values.
        select from unnest($17::text[]) as e (entry)
        cross join lateral (select split_part(e.entry, ':', 1) as path, substr(e.entry, strpos(e.entry, ':') + 1) as value) a
        cross join lateral (
          select g.redact || (
            select m.redact from kairos.machines m where m.name = g.fsm and m.version = g.fsm_version) as fields
        ) r
        where not case
            when a.path <> '*' then a.value = any (kairos.argument_values(i.input, a.path))
            when r.fields <> '{}' then exists (
              select from unnest(g.search) as s (entry) where substr(s.entry, strpos(s.entry, ':') + 1) = left(a.value, 200))
            else exists (
              select from jsonb_path_query(i.input, '$.**') v
              where jsonb_typeof(v) in ('string', 'number', 'boolean') and v #>> '{}' = a.value) end
          or exists (
            select from unnest(r.fields) as f (field) where a.path = f.field or starts_with(a.path, f.field || '.'))
      ) as passes
    from kairos.gen_durable g
    cross join lateral (
      -- Searches the text of the input first, for the value as a JSON string and, if it may be a number or a
      -- boolean, without quotes: parsing the input costs twenty times as much.
      select t.input, t.text, not exists (
        select from unnest($17::text[]) as e (entry)
        cross join lateral (select substr(e.entry, strpos(e.entry, ':') + 1) as value) a
        where strpos(t.text, to_jsonb(a.value)::text) = 0
          and (a.value !~ '^(-?[0-9].*|true|false)$' or strpos(t.text, a.value) = 0)
      ) as is_near
      from (select coalesce(g.input, g.state) as input, coalesce(g.input, g.state)::text as text offset 0) t
      offset 0
    ) i
    where g.id = (select l.ids from line l)[s.place + 1]
  ) j
  where s.place < (select cardinality(l.ids) from line l) and s.bytes < 8388608 and s.found < $4::int
), matched as materialized (
  select p.id from passing p where $17::text[] is null
  union all
  select s.id from searched s where s.passes
), looked as materialized (
  -- If the search in inputs ended early, older jobs are left for the next page too.
  select greatest(e.walked, (
    select s.id from searched s
    where s.bytes >= 8388608 and s.found < $4::int and s.place < (select cardinality(l.ids) from line l)
    order by s.place desc limit 1
  )) as walked
  from ended e
)
select
  {job_columns: whole=$5::boolean},
  looked.walked, looked.walked is not null as more,
  (select j.inserted_at from kairos.gen_durable j where j.id = looked.walked) as walked_at
from looked
left join matched on true
left join lateral (select * from kairos.gen_durable j where j.id = matched.id limit 1) g on true
order by g.id desc
