-- list_error_groups: at most $2 groups of failures, ordered by their newest job, which is below id $1 (null: from the
-- start); of action $3, with jobs of queue $4, that failed at $5 or later. Groups are found by a skip scan. The newest
-- $6 failures of each are counted, in the index alone.
-- Index: gen_durable_of_error.
with recursive names (error_group) as (
  (select g.error_group from kairos.gen_durable g where g.error_group is not null order by g.error_group limit 1)
  union all
  select (select g.error_group from kairos.gen_durable g
          where g.error_group is not null and g.error_group > n.error_group order by g.error_group limit 1)
  from names n where n.error_group is not null
), newest as materialized (
  select n.error_group, j.id from names n
  cross join lateral (
    select g.id from kairos.gen_durable g
    where g.error_group is not null
      and (g.error_group, g.id) <= (n.error_group, 9223372036854775807) and (g.error_group, g.id) >= (n.error_group, 0)
      and ($4::text is null or g.queue = $4::text) and ($5::timestamptz is null or g.completed_at >= $5::timestamptz)
    order by g.error_group desc, g.id desc limit 1
  ) j
  cross join lateral (select w.fsm from kairos.gen_durable w where w.id = j.id limit 1) of
  where n.error_group is not null and ($1::bigint is null or j.id < $1::bigint) and ($3::text is null or of.fsm = $3::text)
  order by j.id desc limit $2::int
), hours as materialized (
  select date_trunc('hour', kairos.now()) as last
)
select n.error_group as fingerprint, g.fsm as action, g.error_code as exception, g.error_frame as frame,
  coalesce(g.last_error, '') as message, c.count, c.series, c.first_at, c.last_at, c.last_job_id, n.id as newest_id
from newest n
cross join lateral (
  select sum(h.count)::bigint as count, min(h.first_at) as first_at, max(h.last_at) as last_at,
    (array_agg(h.last_id order by h.last_at desc))[1] as last_job_id,
    (select array_agg(coalesce(s.count, 0) order by p.place desc) from generate_series(23, 0, -1) as p (place)
     left join lateral (select sum(e.count)::bigint as count from unnest(array_agg(h.hour), array_agg(h.count)) as e (hour, count)
       where e.hour = (select last from hours) - p.place * interval '1 hour') s on true) as series
  from (
    select date_trunc('hour', f.completed_at) as hour, count(*) as count, min(f.completed_at) as first_at,
      max(f.completed_at) as last_at, (array_agg(f.id order by f.completed_at desc, f.id desc))[1] as last_id
    from (
      select g.id, g.completed_at from kairos.gen_durable g
      where g.error_group is not null
        and (g.error_group, g.id) <= (n.error_group, n.id) and (g.error_group, g.id) >= (n.error_group, 0)
        and ($4::text is null or g.queue = $4::text) and ($5::timestamptz is null or g.completed_at >= $5::timestamptz)
      order by g.error_group desc, g.id desc limit $6::int
    ) f group by 1
  ) h
) c
cross join lateral (select * from kairos.gen_durable j where j.id = c.last_job_id limit 1) g
order by n.id desc
