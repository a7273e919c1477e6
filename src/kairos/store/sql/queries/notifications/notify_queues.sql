-- notify_queues: notifies the workers of these queues. Its commit does not wait for the disk: a notification is not
-- stored.
select pg_notify('kairos', q.queue)
from (select set_config('synchronous_commit', 'off', true) as setting) s
cross join unnest($1::text[]) as q (queue)
where s.setting is not null
