-- insert_session: opens a browser session for access key $2, and deletes expired sessions and, if the key has $6 or
-- more, those that were not used for longest.
with over as (
  delete from kairos.sessions s where s.expires_at <= kairos.now() or s.seen_at + s.idle <= kairos.now()
    or s.id = any (array(
      select o.id from kairos.sessions o where o.key_id = $2::text order by o.seen_at desc, o.created_at desc, o.id offset $6::int - 1
    ))
)
insert into kairos.sessions (id, key_id, secret_hash, created_at, seen_at, idle, expires_at)
values ($1::text, $2::text, $3::bytea, kairos.now(), kairos.now(), $4::interval, kairos.now() + $5::interval)
returning id, expires_at
