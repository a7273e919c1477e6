-- asynchronous_standbys: the physical standbys that stream from this server, if commits wait for none. Receivers of
-- logical changes, archivers and backups are no standbys: they are never promoted. Without pg_read_all_stats a user
-- sees that a standby exists, but none of its columns.
asynchronous_standbys as materialized (
  select r.application_name, r.backend_start from pg_stat_replication r
  where current_setting('synchronous_standby_names') = ''
    and coalesce(r.state, 'streaming') = 'streaming'
    and coalesce(r.application_name, '') not in ('pg_receivewal', 'pg_basebackup')
    and not exists (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')
)
