-- insert_session: opens a browser session for access key $2 and deletes expired sessions.
with over as (
  delete from kairos.sessions s where s.expires_at <= kairos.now() or s.seen_at + s.idle <= kairos.now()
)
insert into kairos.sessions (id, key_id, secret_hash, created_at, seen_at, idle, expires_at)
values ($1::text, $2::text, $3::bytea, kairos.now(), kairos.now(), $4::interval, kairos.now() + $5::interval)
returning id, expires_at
