-- touch_access_key: records that an access key was used, at most once a minute.
update kairos.keys k set last_used_at = kairos.now()
where k.id = $1::text and (k.last_used_at is null or k.last_used_at < kairos.now() - interval '1 minute')
