-- notify_queues: a hint to the workers of these queues; of our own transactions none that inserts has it inside.
select pg_notify('kairos', queue) from unnest($1::text[]) as q (queue)
