-- insert_access_key: inserts an access key; only the hash of its secret is stored.
insert into kairos.keys (id, name, secret_hash, scopes, created_at, created_by, expires_at)
values ($1::text, $2::text, $3::bytea, $4::text[], kairos.now(), $5::text,
        coalesce($6::timestamptz, kairos.now() + $7::interval))
returning id, name, scopes, created_at, created_by, expires_at, last_used_at, revoked_at
