-- insert_session: a browser signs in with key $2; sessions that are over are swept out on the way.
with over as (
  delete from kairos.sessions s where s.expires_at <= kairos.now() or s.seen_at + s.idle <= kairos.now()
)
insert into kairos.sessions (id, key_id, secret_hash, created_at, seen_at, idle, expires_at)
values ($1::text, $2::text, $3::bytea, kairos.now(), kairos.now(), $4::interval, kairos.now() + $5::interval)
returning id, expires_at
