-- drain_worker: asks a worker to finish what it runs and leave; its next beat tells it, and a hint calls
-- for that beat now (no queue has such a name).
with asked as (
  update kairos.workers w set drain_at = coalesce(w.drain_at, kairos.now()) where w.id = $1::text returning w.id
)
select a.id, pg_notify('kairos', e'\x02' || a.id) from asked a
