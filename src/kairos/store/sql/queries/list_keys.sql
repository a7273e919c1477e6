-- list_keys: every key there ever was, newest first, before key $1 if it is given; without secrets, which nobody has.
select k.id, k.name, k.scopes, k.created_at, k.created_by, k.expires_at, k.last_used_at, k.revoked_at
from kairos.keys k
where $1::text is null
  or (k.created_at, k.id) < (select b.created_at, b.id from kairos.keys b where b.id = $1::text)
order by k.created_at desc, k.id desc
limit $2::int
