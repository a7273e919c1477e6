-- save_worker: a worker says that it is there. $7 says that it is stopping.
insert into kairos.workers (id, host, pid, queues, actions, concurrency, started_at, seen_at)
values ($1, $2, $3::int, $4::text[], $5::text[], $6::int, kairos.now(), kairos.now())
on conflict (id) do update set seen_at = kairos.now(),
  stopping_at = case when $7::boolean then coalesce(workers.stopping_at, kairos.now()) end
