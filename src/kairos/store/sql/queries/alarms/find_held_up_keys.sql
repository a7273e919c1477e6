-- find_held_up_keys: finds keys with due jobs whose running job has run for longer than is normal.
-- Parameters: $1 the normal running time.
-- Index: gen_durable_lease, gen_durable_key_line.
select 'key_held_up' as kind, r.partition_key as subject, n.count, r.picked_at as since, 'job ' || r.id as detail
from (
  -- Every running job is read: there are no more of them than workers have lanes.
  select g.id, g.partition_key, g.picked_at from kairos.gen_durable g
  where g.status = 'executing' and g.lease_expires_at is not null and g.partition_key is not null
    and g.key_slot >= 0 and g.picked_at <= kairos.now() - $1::interval
  order by g.lease_expires_at limit 1000
) r
cross join lateral (
  select count(*) from (
    select from kairos.gen_durable b
    where b.partition_key = r.partition_key and b.status = 'runnable' and b.eligible_at <= kairos.now()
      and (b.expires_at is null or b.expires_at > kairos.now())
    limit 1000
  ) due
) n
where n.count > 0
