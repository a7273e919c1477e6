-- count_jobs: how many jobs pass the filters, by state, at most a little more than $1 of each status, counted in the
-- index that lists read. The filters are those of kairos.shapes.job_filters that have an index, in their order: action
-- $2, queue $3, key $4, schedule $5, created from $6, before $7, parent $8, error $9, retry of $10; at most one of key,
-- schedule, parent, error and retry. Pending and scheduled jobs have one stored status. If the queue is the only
-- filter, the pick index tells them apart. Otherwise `runnable` counts both, and `due` counts those that are due, among
-- $11 jobs examined. If more than $11 are due, there is a row `due unread`, and `later` counts those that are not due
-- in the same way (`later unread`). So it is done, whatever the filters are, where there are more than $11 pairs of
-- queue and priority: only the first of them are looked at, and both rows `unread` are there.
-- Index: gen_durable_lease, gen_durable_kinds, and that of the filter.
with recursive
{waiting_lines: queue=$3; after=''; most=65536},
few_lines as materialized (
  select l.queue, l.priority from lines l limit $11::int + 1
), crowded as materialized (
  select count(*) > $11::int as yes from few_lines
), range as materialized (
  select coalesce(kairos.id_at($6::timestamptz), 0) as first,
    coalesce(kairos.id_at($7::timestamptz), 9223372036854775807) as below
), path as materialized (
  select case when num_nonnulls($4::text, $5::text, $8::bigint, $9::text, $10::bigint) > 0 then 'own' else 'kinds' end as name,
    -- Then the pick index tells due jobs from scheduled ones; it has neither actions nor ids.
    num_nonnulls($2::text, $4::text, $5::text, $8::bigint, $6::timestamptz, $7::timestamptz, $9::text, $10::bigint) = 0
      and not (select c.yes from crowded c) as by_line
), statuses as materialized (
  select s as status from unnest(enum_range(null::kairos.durable_status)) s where s <> 'executing'
),
{kinds_in_use: queue=$3; action=$2},
kinds as materialized (
  select p.queue, p.fsm from pairs p where p.fsm is not null
), due as materialized (
  {jobs_in_lines: column=g.id; side=<=; most=$11::int + 1; if=not (select p.by_line from path p)}
), later as materialized (
  -- If so many jobs are due, few are usually scheduled for later.
  {jobs_in_lines: column=g.id; side=>; most=$11::int + 1; if=(select count(*) > $11::int or (select c.yes from crowded c) from due)}
), counted (state, jobs) as (
  select case s.status when 'runnable' then 'runnable' else kairos.job_state(s.status, kairos.now(), kairos.now()) end, n.jobs
  from statuses s
  cross join lateral (
    select count(*) as jobs from (
      (select each.id from kinds k
       cross join lateral (
         -- Rows are compared, and not their columns, so that gen_durable_pkey cannot serve the order: where nearly all jobs
         -- have one status, the planner would read all of them for each other status.
         select g.id from kairos.gen_durable g
         where (g.queue, g.fsm, g.status, g.id) >= (k.queue, k.fsm, s.status, (select first from range))
           and (g.queue, g.fsm, g.status, g.id) < (k.queue, k.fsm, s.status, (select below from range))
           and g.status <> 'executing'
         order by g.queue, g.fsm, g.status, g.id limit $1::int + 1
       ) each
       limit $1::int + 1)
      union all
      {ids_of_status: column=partition_key; value=$4::text}
      union all
      {ids_of_status: column=schedule; value=$5::text}
      union all
      {ids_of_status: column=reply_to; value=$8::bigint}
      union all
      {ids_of_status: column=retry_of; value=$10::bigint}
      union all
      (select g.id from kairos.gen_durable g
       where g.error_group = $9::text and s.status = 'failed'
         and g.id >= (select first from range) and g.id < (select below from range)
       order by g.error_group, g.id limit $1::int + 1)
    ) found
  ) n
  where s.status <> 'runnable' or not (select p.by_line from path p)
  union all
  select d.side, count(*)
  from (select 'due' as side, due.id from due union all select 'later', later.id from later offset 0) d
  cross join lateral (
    select from kairos.gen_durable g
    where g.id = d.id and ($2::text is null or g.fsm = $2::text)
      and ($4::text is null or g.partition_key = $4::text) and ($5::text is null or g.schedule = $5::text)
      and ($8::bigint is null or g.reply_to = $8::bigint) and ($10::bigint is null or g.retry_of = $10::bigint)
      and g.id >= (select first from range) and g.id < (select below from range)
    offset 0
  ) each
  group by d.side
  union all
  select 'due unread', 1 from due having count(*) > $11::int or (select c.yes from crowded c)
  union all
  select 'later unread', 1 from later having count(*) > $11::int or (select c.yes from crowded c)
  union all
  select 'pending', count(*) from (
    {jobs_in_lines: column=; side=<=; most=$1::int + 1; if=(select p.by_line from path p)}
  ) due
  union all
  select 'scheduled', count(*) from (
    {jobs_in_lines: column=; side=>; most=$1::int + 1; if=(select p.by_line from path p)}
  ) later
  union all
  select 'running', count(*) from kairos.gen_durable g
  where g.status = 'executing' and ($2::text is null or g.fsm = $2::text) and ($3::text is null or g.queue = $3::text)
    and ($4::text is null or g.partition_key = $4::text) and ($5::text is null or g.schedule = $5::text)
    and ($8::bigint is null or g.reply_to = $8::bigint) and ($10::bigint is null or g.retry_of = $10::bigint)
    and $9::text is null
    and g.id >= (select first from range) and g.id < (select below from range)
)
select c.state, sum(c.jobs)::bigint as jobs from counted c where c.jobs > 0 group by c.state
