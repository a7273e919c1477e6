-- list_access_keys: all access keys ever created, newest first, starting before key $1 if given; secrets are not
-- stored.
select k.id, k.name, k.scopes, k.created_at, k.created_by, k.expires_at, k.last_used_at, k.revoked_at
from kairos.keys k
where $1::text is null
  or (k.created_at, k.id) < (select b.created_at, b.id from kairos.keys b where b.id = $1::text)
order by k.created_at desc, k.id desc
limit $2::int
