-- revoke_access_key: revokes an access key and deletes the sessions opened with it; a second call changes nothing.
with ended as (
  delete from kairos.sessions s where s.key_id = $1::text
)
update kairos.keys k set revoked_at = coalesce(k.revoked_at, kairos.now())
where k.id = $1::text
returning k.id, k.name, k.scopes, k.created_at, k.created_by, k.expires_at, k.last_used_at, k.revoked_at
