-- read_wal_position: reads how far the primary has written its log, on which timeline, and which cluster it is; a
-- standby refuses. The name of a segment of the log begins with its timeline.
select
  w.position::text as position,
  ('x' || left(pg_walfile_name(w.position), 8))::bit(32)::int as timeline,
  s.system_identifier as cluster
from pg_control_system() s, pg_current_wal_lsn() w (position)
