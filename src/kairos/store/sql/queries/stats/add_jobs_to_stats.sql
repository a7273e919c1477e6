-- add_jobs_to_stats: adds the jobs with ids after $1 and up to $2 to the statistics, as accepted at their time. Jobs
-- deleted before that are not counted.
-- Index: gen_durable_pkey.
with minutes as (
  select date_bin('1 minute', g.inserted_at, 'epoch') as minute, g.fsm, g.queue, count(*) as n
  from kairos.gen_durable g
  where g.id > $1::bigint and g.id <= $2::bigint
  group by 1, 2, 3
)
insert into kairos.tallies as t (grain, at, fsm, queue, accepted)
select grain, slot.at, m.fsm, m.queue, sum(m.n)
from minutes m
cross join (values (0), (60), (3600)) as grains (grain)
cross join lateral (
  select case grain when 0 then 'epoch' else date_bin(grain * interval '1 second', m.minute, 'epoch') end as at
) slot
group by 1, 2, 3, 4
order by 1, 2, 3, 4
on conflict (grain, at, fsm, queue) do update set accepted = t.accepted + excluded.accepted
