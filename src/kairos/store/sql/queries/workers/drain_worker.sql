-- drain_worker: asks a worker to finish its running jobs and exit; the worker reads the request with its next
-- heartbeat, which a notification triggers at once.
update kairos.workers w set drain_at = coalesce(w.drain_at, kairos.now()) where w.id = $1::text returning w.id
