-- read_replay_position: reads how far a standby has replayed its primary's log, on which timeline, which cluster it is,
-- and whether it is still a standby. A role that may not see the receiver's timeline gets that of the last
-- restartpoint.
select
  pg_last_wal_replay_lsn()::text as position,
  coalesce((select received_tli from pg_stat_wal_receiver), c.timeline_id) as timeline,
  pg_is_in_recovery() as is_standby,
  s.system_identifier as cluster
from pg_control_system() s, pg_control_checkpoint() c
