-- save_cursor: the newest id of a source of the tally, and who was writing when it was read; nobody: all are decided.
update kairos.tally_cursors c set
  seen = $2::bigint, seen_at = kairos.now(),
  writers = array(
    select distinct l.virtualtransaction from pg_locks l
    where l.locktype = 'relation' and l.mode = 'RowExclusiveLock'
      and l.relation = case $1::text when 'jobs' then 'kairos.gen_durable'::regclass else 'kairos.history'::regclass end
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
  )
where c.source = $1::text
returning cardinality(c.writers) = 0 as decided
