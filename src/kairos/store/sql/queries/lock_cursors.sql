-- lock_cursors: takes the cursors of the tally, those that nobody else has. `decided` says that every transaction that
-- may have held an id up to `seen` is over: each held a lock on the table from before its first id. `newest` is the last
-- id given out; save_cursor must look at who writes after that was read, never before.
select c.source, c.counted, c.seen,
  coalesce(pg_sequence_last_value(
    case c.source when 'jobs' then 'kairos.gen_durable_id_seq'::regclass else 'kairos.history_id_seq'::regclass end
  ), 0) as newest,
  not exists (
    select from pg_locks l
    where l.virtualtransaction = any (c.writers)
      and l.relation = case c.source when 'jobs' then 'kairos.gen_durable'::regclass else 'kairos.history'::regclass end
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
  ) as decided
from kairos.tally_cursors c
for update skip locked
