-- read_schedule_stats: what happened to the newest $7 jobs of schedule $1 from $2 until before $3, in slots of $4
-- seconds from $2; of action $5 and queue $6 (null: any). The same columns as read_stats, counted from the jobs
-- themselves.
-- Index: gen_durable_of_schedule, history_pkey.
with jobs as materialized (
  select j.id, j.inserted_at, g.fsm, g.queue from (
    select each.id, each.inserted_at from unnest(enum_range(null::kairos.durable_status)) as s (status)
    cross join lateral (
      select g.id, g.inserted_at from kairos.gen_durable g
      where g.schedule is not null
        and (g.schedule, g.status, g.id) <= ($1::text, s.status, 9223372036854775807)
        and (g.schedule, g.status, g.id) >= ($1::text, s.status, kairos.id_at($2::timestamptz - interval '1 day'))
      order by g.schedule desc, g.status desc, g.id desc limit $7::int
    ) each
    order by each.id desc limit $7::int
  ) j
  cross join lateral (select g.fsm, g.queue from kairos.gen_durable g where g.id = j.id limit 1) g
  where ($5::text is null or g.fsm = $5::text) and ($6::text is null or g.queue = $6::text)
), facts as materialized (
  select j.inserted_at as at, 'accepted' as what, null::int as wait, null::int as run from jobs j
  union all
  select h.at, case when h.verb = 'retry' then 'retried' when h.verb <> 'fail' then h.to_state end, null,
    {run_bucket}
  from jobs j join kairos.history h on h.job_id = j.id
  union all
  select h.started_at, 'started', kairos.bucket(h.started_at - h.due_at), null
  from jobs j join kairos.history h on h.job_id = j.id
  where h.due_at is not null and h.verb <> 'release'
), placed as materialized (
  select floor(extract(epoch from f.at - $2::timestamptz) / $4::int)::int as place, f.*
  from facts f where f.at >= $2::timestamptz and f.at < $3::timestamptz
), waits as (
  select b.place, jsonb_object_agg(b.wait, b.n)::text as waits
  from (select p.place, p.wait, count(*) as n from placed p where p.wait is not null group by 1, 2) b group by 1
), runs as (
  select b.place, jsonb_object_agg(b.run, b.n)::text as runs
  from (select p.place, p.run, count(*) as n from placed p where p.run is not null group by 1, 2) b group by 1
), counts as (
  select p.place,
    count(*) filter (where p.what = 'accepted') as accepted, count(*) filter (where p.what = 'started') as started,
    count(*) filter (where p.what = 'success') as success, count(*) filter (where p.what = 'failed') as failed,
    count(*) filter (where p.what = 'expired') as expired, count(*) filter (where p.what = 'cancelled') as cancelled,
    count(*) filter (where p.what = 'retried') as retried
  from placed p group by p.place
)
select c.*, null::text as action, coalesce(w.waits, '{}') as waits, coalesce(r.runs, '{}') as runs
from counts c
left join waits w on w.place = c.place
left join runs r on r.place = c.place
order by c.place
