-- find_asynchronous_standbys: finds standbys that commits do not wait for. Times that Postgres reports about itself are
-- by its own clock.
-- Parameters: $1 how long a standby must have been connected.
with
{asynchronous_standbys}
select 'standby_asynchronous' as kind, 'standbys' as subject, count(*) as count, min(u.backend_start) as since,
  string_agg(u.application_name, ', ' order by u.application_name) as detail
from asynchronous_standbys u
where coalesce(u.backend_start <= clock_timestamp() - $1::interval, true)
having count(*) > 0
