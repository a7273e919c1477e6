-- Queues: each that has waiting or held jobs is found by a skip scan, however many another has, and counted in the
-- index alone. A row is in one of these or in gen_durable_pick, never in two: a job that never waits pays for neither.
create index gen_durable_queue_waiting on kairos.gen_durable (queue) where status = 'awaiting_signal';
create index gen_durable_queue_held on kairos.gen_durable (queue, eligible_at) where status = 'runnable' and held;

-- Nobody counts a queue's rows in it any more.
drop index kairos.gen_durable_held;
create index gen_durable_held on kairos.gen_durable (partition_key, priority, eligible_at, id)
  where status = 'runnable' and held;
