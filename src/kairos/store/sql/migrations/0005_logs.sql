-- Logs: what steps said, kept with their job. The cursor counts each job's lines from 1 without a gap; for one job the
-- order of commits is the order of cursors, so that whoever read up to N goes on with `cursor > N` and misses nothing.
create table kairos.logs (
  job_id  bigint not null,
  cursor  bigint not null,
  lease   bigint not null,          -- under which it was said
  said    bigint not null,          -- its number among the lines of that worker: a line sent twice is stored once
  at      timestamptz not null,
  level   text not null,
  line    text not null,
  fields  jsonb,
  step    text not null,
  attempt int not null,
  stream  text check (stream in ('stdout', 'stderr')),   -- where it was captured; null: it was logged
  primary key (job_id, cursor)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);

create trigger logs_append_only before update on kairos.logs
  for each statement execute function kairos.refuse_rewrite();
create trigger logs_are_kept before truncate on kairos.logs
  for each statement execute function kairos.refuse_rewrite();

-- Lines leave with their job, whoever deletes it, and in no other way.
-- With its owner's rights, like every trigger that writes elsewhere: whoever may change a job need not know of more tables.
create function kairos.delete_logs() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from kairos.logs l where l.job_id = any (array(select gone.id from gone));
  return null;
end $$;
create trigger gen_durable_logs after delete on kairos.gen_durable
  referencing old table as gone
  for each statement execute function kairos.delete_logs();

create function kairos.refuse_delete() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: its rows leave with their job', tg_table_name using errcode = 'KA403';
end $$;
create trigger logs_leave_with_their_job before delete on kairos.logs
  for each statement when (pg_trigger_depth() = 0) execute function kairos.refuse_delete();

-- Everything that was committed, in one order, for those who watch all jobs.
create index history_feed on kairos.history (id);

-- How far that order is decided: the last number that was drawn, and who may still commit a smaller one. Whoever draws
-- a number holds this lock on the table before, and until its commit can be seen; it is read after the number.
-- A long transaction elsewhere, which never wrote history, therefore holds nobody up.
create function kairos.feed_mark() returns table (last bigint, writers text[]) language plpgsql as $$
begin
  last := coalesce(pg_sequence_last_value('kairos.history_id_seq'::regclass), 0);
  select coalesce(array_agg(distinct l.virtualtransaction), '{}') into writers
  from pg_locks l
  where l.locktype = 'relation' and l.mode = 'RowExclusiveLock' and l.granted
    and l.relation = 'kairos.history'::regclass
    and l.database = (select d.oid from pg_database d where d.datname = current_database());
  return next;
end $$;
