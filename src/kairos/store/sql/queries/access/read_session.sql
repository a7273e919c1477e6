-- read_session: one session by id, with the hash to compare and its access key; it is valid while both are.
select s.id, s.secret_hash, k.id as key_id, k.name, k.scopes,
  s.expires_at > kairos.now() and s.seen_at + s.idle > kairos.now()
    and k.revoked_at is null and (k.expires_at is null or k.expires_at > kairos.now()) as good,
  extract(epoch from least(s.expires_at, s.seen_at + s.idle, k.expires_at) - kairos.now())::float8 as seconds_left,
  s.seen_at < kairos.now() - interval '1 minute' as stale
from kairos.sessions s join kairos.keys k on k.id = s.key_id
where s.id = $1::text
