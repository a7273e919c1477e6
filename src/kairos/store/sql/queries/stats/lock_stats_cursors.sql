-- lock_stats_cursors: locks the cursors of the statistics, skipping those that another worker has locked. `decided`
-- says that every transaction that may hold an id up to `seen` has ended: a transaction locks the table before it draws
-- its first id. `newest` is the last id assigned. The statement that finds the writers, save_stats_cursor, must run
-- after this one, never before.
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
