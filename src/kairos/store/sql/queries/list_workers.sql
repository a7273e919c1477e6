-- list_workers: who is there.
select w.id, w.host, w.pid, w.queues, w.actions, w.concurrency, w.started_at, w.seen_at, w.stopping_at
from kairos.workers w order by w.id
