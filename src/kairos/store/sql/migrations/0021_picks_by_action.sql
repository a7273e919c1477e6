-- In a queue that several apps or versions share, a worker picks only the actions and versions that it knows.
-- step: build the index (outside a transaction)
create index concurrently gen_durable_pick_action on kairos.gen_durable (queue, fsm, fsm_version, priority, eligible_at, id)
  where status = 'runnable' and not held;
