-- touch_session: records that a session and its access key were used, each at most once a minute.
with used as (
  update kairos.sessions s set seen_at = kairos.now()
  where s.id = $1::text and s.seen_at < kairos.now() - interval '1 minute'
  returning s.key_id
)
update kairos.keys k set last_used_at = kairos.now() from used where k.id = used.key_id
