-- read_server: what of Postgres' settings a scheduler depends on.
select current_setting('server_version_num')::int as version, current_setting('server_version') as version_name,
  current_setting('fsync')::boolean as fsync, current_setting('full_page_writes')::boolean as full_page_writes,
  current_setting('autovacuum')::boolean as autovacuum, current_setting('track_counts')::boolean as track_counts,
  -- As a connection gets it that asks for nothing: ours may have asked.
  coalesce((select s.reset_val from pg_settings s where s.name = 'synchronous_commit'), 'on') as synchronous_commit,
  pg_notification_queue_usage() as notifications,
  (select count(*) from pg_stat_activity a where a.backend_type = 'client backend') as connections,
  current_setting('max_connections')::int as max_connections, clock_timestamp() as clock
