-- lock_queue: one picker at a time of a queue that has a limit over all workers.
select name from kairos.queues where name = $1 for no key update
