-- notify_queues: a hint to the workers of these queues; never inside a transaction that inserts.
select pg_notify('kairos', queue) from unnest($1::text[]) as q (queue)
