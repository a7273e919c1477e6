-- The indexes that lists of jobs walk, newest first. A filter on queue, action or state is a set of (queue, action,
-- status); a page is the newest of each. What is executing is few, and found by gen_durable_lease.

-- step: by queue, action and status (outside a transaction)
create index concurrently gen_durable_kinds on kairos.gen_durable (queue, fsm, status, id) where status <> 'executing';

-- step: the index that it replaces (outside a transaction)
drop index concurrently if exists kairos.gen_durable_listed;

-- step: by key and status (outside a transaction)
create index concurrently gen_durable_of_key on kairos.gen_durable (partition_key, status, id)
  where partition_key is not null;

-- step: the index of keys that it replaces (outside a transaction)
drop index concurrently if exists kairos.gen_durable_keyed;

-- step: by schedule and status (outside a transaction)
create index concurrently gen_durable_of_schedule on kairos.gen_durable (schedule, status, id)
  where schedule is not null;

-- step: the index of schedules that it replaces (outside a transaction)
drop index concurrently if exists kairos.gen_durable_scheduled;

-- step: by parent and status (outside a transaction)
create index concurrently gen_durable_of_parent on kairos.gen_durable (reply_to, status, id)
  where reply_to is not null;

-- step: by group of errors (outside a transaction)
create index concurrently gen_durable_of_error on kairos.gen_durable (error_group, id) include (queue, completed_at)
  where error_group is not null;

-- step: by searchable arguments (outside a transaction)
create index concurrently gen_durable_search on kairos.gen_durable using gin (search) where search is not null;
