-- count_activity: counts what was accepted and picked lately, by queue. `accepted` counts the jobs with ids after $1
-- and, in `recent`, after $2; `last` is the newest id assigned. `running` lists the jobs that run now, as [id, lease,
-- queue]. `finished` counts the runs that ended in the history rows after $3 and up to $4, without those of the jobs
-- $5.
-- Index: gen_durable_pkey, gen_durable_lease, history_feed.
select coalesce(pg_sequence_last_value('kairos.gen_durable_id_seq'::regclass), 0) as last,
  coalesce((
    select jsonb_object_agg(a.queue, jsonb_build_array(a.accepted, a.recent)) from (
      select j.queue, count(*) as accepted, count(*) filter (where j.id > $2::bigint) as recent
      from (select g.id, g.queue from kairos.gen_durable g where g.id > $1::bigint order by g.id limit 20000) j
      group by j.queue
    ) a
  ), '{}')::text as accepted,
  coalesce((
    select jsonb_agg(jsonb_build_array(r.id, r.lease, r.queue)) from (
      select g.id, g.lease, g.queue from kairos.gen_durable g where g.status = 'executing' limit 20000
    ) r
  ), '[]')::text as running,
  coalesce((
    select jsonb_object_agg(f.queue, f.n) from (
      select g.queue, count(*) as n
      from (
        select c.job_id from kairos.history c
        where c.id > $3::bigint and c.id <= $4::bigint and c.from_state = 'running' and c.due_at is not null
          and c.verb <> 'release' and c.job_id <> all ($5::bigint[])
        order by c.id limit 20000
      ) h
      cross join lateral (select j.queue from kairos.gen_durable j where j.id = h.job_id limit 1) g
      group by g.queue
    ) f
  ), '{}')::text as finished
