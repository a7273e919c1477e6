-- read_server_settings: the settings of Postgres that a scheduler depends on.
with
{asynchronous_standbys}
select current_setting('server_version_num')::int as version, current_setting('server_version') as version_name,
  current_setting('fsync')::boolean as fsync, current_setting('full_page_writes')::boolean as full_page_writes,
  current_setting('autovacuum')::boolean as autovacuum, current_setting('track_counts')::boolean as track_counts,
  exists (select from asynchronous_standbys) as followed_asynchronously,
  pg_notification_queue_usage() as notifications,
  (select count(*) from pg_stat_activity a where a.backend_type = 'client backend') as connections,
  current_setting('max_connections')::int as max_connections, clock_timestamp() as clock,
  exists (
    select from pg_class c
    where c.relname = 'clock'
      and c.relnamespace = (select g.relnamespace from pg_class g where g.oid = 'kairos.gen_durable'::regclass)
  ) as clock_replaced
