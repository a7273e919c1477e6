-- claim_request: takes an Idempotency-Key for a request, in the transaction of what the request does. Whoever comes
-- second waits for that to end, and then gets no row unless the key is free: nothing came of it, or its time is over.
insert into kairos.idempotency as i (caller, key, fingerprint, expires_at)
values ($1::text, $2::text, $3::bytea, kairos.now() + $4::interval)
on conflict (caller, key) do update set
  fingerprint = excluded.fingerprint, status = null, body = null, expires_at = excluded.expires_at
where i.expires_at <= kairos.now()
returning i.key
