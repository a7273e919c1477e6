-- claim_idempotency_key: claims an Idempotency-Key in the transaction of the request. A concurrent request with the
-- same key waits for that transaction, and then gets no row unless the key is free: the first was rolled back, or its
-- response has expired.
insert into kairos.idempotency as i (caller, key, fingerprint, expires_at)
values ($1::text, $2::text, $3::bytea, kairos.now() + $4::interval)
on conflict (caller, key) do update set
  fingerprint = excluded.fingerprint, status = null, body = null, expires_at = excluded.expires_at
where i.expires_at <= kairos.now()
returning i.key
