-- remove_worker: a worker left in good order, or was seen last longer ago than $2.
delete from kairos.workers w where w.id = $1::text or w.seen_at < kairos.now() - $2::interval
