-- save_worker: a worker says that it is there, and how it fares. $7 says that it is stopping, $8 which versions of
-- actions it knows and $9 which it was given and does not, $10 how many of its commits were refused, $11 how far its
-- clock is off, $12 whether it hears LISTEN, $13 how long it keeps what has ended. Answers with Postgres' own clock.
insert into kairos.workers as w (
  id, host, pid, queues, actions, concurrency, started_at, seen_at, machines, unknown, stale, clock_skew, deaf_since,
  retention)
values ($1, $2, $3::int, $4::text[], $5::text[], $6::int, kairos.now(), kairos.now(), $8::text[], $9::text[],
  $10::bigint, $11::interval, case when not $12::boolean then kairos.now() end, $13::interval)
on conflict (id) do update set seen_at = kairos.now(),
  stopping_at = case when $7::boolean then coalesce(w.stopping_at, kairos.now()) end,
  unknown = excluded.unknown, stale = excluded.stale, clock_skew = excluded.clock_skew,
  deaf_since = case when excluded.deaf_since is not null then coalesce(w.deaf_since, excluded.deaf_since) end
returning clock_timestamp() as clock, w.drain_at is not null as drain
