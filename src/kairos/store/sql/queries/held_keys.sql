-- held_keys: the next keys after $1 that have jobs on hold, at most $2, by a skip scan.
-- Index: gen_durable_held. The sweep's floor under wait_keys and open_keys.
with recursive keys as (
  (select g.partition_key as key from kairos.gen_durable g
   where g.status = 'runnable' and g.held and g.partition_key > $1
   order by g.partition_key limit 1)
  union all
  select (select g.partition_key from kairos.gen_durable g
          where g.status = 'runnable' and g.held and g.partition_key > k.key
          order by g.partition_key limit 1)
  from keys k where k.key is not null
)
select key from (select key from keys limit $2::int) as few where key is not null
