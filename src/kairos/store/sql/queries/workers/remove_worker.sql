-- remove_worker: deletes a worker that left, or whose last heartbeat is older than $2.
delete from kairos.workers w where w.id = $1::text or w.seen_at < kairos.now() - $2::interval
