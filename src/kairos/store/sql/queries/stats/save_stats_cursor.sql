-- save_stats_cursor: records the newest id of a source, and the transactions that were writing when it was read;
-- without any, all ids up to it are final.
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
