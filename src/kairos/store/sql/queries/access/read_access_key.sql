-- read_access_key: one access key by id, with the hash to compare, its validity, and whether its last use should be
-- recorded again.
select k.id, k.name, k.scopes, k.secret_hash,
  k.revoked_at is null and (k.expires_at is null or k.expires_at > kairos.now()) as good,
  extract(epoch from k.expires_at - kairos.now())::float8 as seconds_left,
  k.last_used_at is null or k.last_used_at < kairos.now() - interval '1 minute' as stale
from kairos.keys k
where k.id = $1::text
