-- find_stuck_keys: scans the next $2 keys after $1 that have held jobs and marks as stuck those that nothing else would
-- open: the first job of the key is held, although fewer of its jobs run than the queue of the first job allows. The
-- last row is where the scan stopped. The sweeper runs it, so that keys that open_keys missed are opened too.
-- Index: gen_durable_held, gen_durable_key_holder, gen_durable_key_line.
with recursive keys as (
  (select g.partition_key as key from kairos.gen_durable g
   where g.status = 'runnable' and g.held and g.partition_key > $1
   order by g.partition_key limit 1)
  union all
  select (select g.partition_key from kairos.gen_durable g
          where g.status = 'runnable' and g.held and g.partition_key > k.key
          order by g.partition_key limit 1)
  from keys k where k.key is not null
), few as materialized (
  select key from keys limit $2::int
)
select key, stuck.stuck from few
cross join lateral (
  select r.running < coalesce(head.places, 1) and coalesce(head.held, r.running = 0) as stuck
  from (
    select count(*) as running from kairos.gen_durable e where e.partition_key = few.key and e.status = 'executing'
  ) r
  left join lateral (
    select g.held, (select q.key_concurrency from kairos.queues q where q.name = g.queue) as places
    from kairos.key_heads(few.key, 1) h join kairos.gen_durable g on g.id = h.id
  ) head on true
) stuck
where key is not null and (stuck.stuck or key = (select max(key) from few))
order by key
