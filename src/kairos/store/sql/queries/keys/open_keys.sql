-- open_keys: puts the first jobs of the given keys back into the pick index. A worker runs it under wait_for_key_locks,
-- in a later statement, so that it sees what other pickers committed. A client that cancels does not wait for these
-- locks; the sweeper opens the keys that it misses (find_stuck_keys).
-- Guard: only runnable and held jobs change.
-- Index: gen_durable_key_line.
with heads as materialized (
  select h.id
  from unnest($1::text[]) as k (key)
  cross join lateral (
    select count(*) as running from kairos.gen_durable e where e.partition_key = k.key and e.status = 'executing'
  ) r
  cross join lateral kairos.key_heads(k.key, 1) h
  where r.running = 0 or r.running < (
    select max(q.key_concurrency) from kairos.queues q
  )
), line as materialized (
  select g.id from kairos.gen_durable g
  where g.id = any (array(select h.id from heads h)) and g.held and g.status = 'runnable'
  for no key update skip locked
)
update kairos.gen_durable g set held = false where g.id = any (array(select line.id from line))
returning g.queue
