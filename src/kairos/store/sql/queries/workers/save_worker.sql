-- save_worker: registers a worker and records its heartbeat; returns Postgres' own clock and whether a drain was
-- requested.
-- Parameters: $7 whether it is stopping, $8 the versions of actions it knows and $9 those it met and does not know, $10
-- how many of its commits were refused, $11 its clock skew, $12 whether it receives notifications, $13 how long it
-- keeps ended jobs, $14 which session has locked the rows of its outcomes.
insert into kairos.workers as w (
  id, host, pid, queues, actions, concurrency, started_at, seen_at, machines, unknown, stale, clock_skew, deaf_since,
  retention, blocked_since, blocked_by)
values ($1, $2, $3::int, $4::text[], $5::text[], $6::int, kairos.now(), kairos.now(), $8::text[], $9::text[],
  $10::bigint, $11::interval, case when not $12::boolean then kairos.now() end, $13::interval,
  case when $14::text is not null then kairos.now() end, $14::text)
on conflict (id) do update set seen_at = kairos.now(),
  stopping_at = case when $7::boolean then coalesce(w.stopping_at, kairos.now()) end,
  unknown = excluded.unknown, stale = excluded.stale, clock_skew = excluded.clock_skew,
  deaf_since = case when excluded.deaf_since is not null then coalesce(w.deaf_since, excluded.deaf_since) end,
  blocked_since = case when excluded.blocked_since is not null
    then coalesce(w.blocked_since, excluded.blocked_since) end,
  blocked_by = excluded.blocked_by
returning clock_timestamp() as clock, w.drain_at is not null as drain
