-- No id is given twice after a failover to a standby that lagged behind (decision 0032). The jobs that it had not
-- received are lost, and with them what the sequence of ids had given out. A promotion begins a new timeline in the WAL:
-- the first insert there moves the sequence ahead of every id that may have been given out before.

-- step: the timeline that the ids belong to
-- A sequence and not a row: what it is set to holds at once, for everybody, and does not wait for a commit.
create sequence kairos.timeline as bigint;

-- step: functions
-- Null where the server does not say.
create function kairos.wal_timeline() returns bigint language plpgsql as $$
begin
  return ('x' || lpad(left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), 16, '0'))::bit(64)::bigint;
exception
  when feature_not_supported or insufficient_privilege or undefined_function or object_not_in_prerequisite_state then
    return null;
end $$;

-- Under a lock of its own, which is given back here and not at the end of the transaction.
create function kairos.leave_old_ids(present bigint) returns void language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  lock constant bigint := hashtextextended('timeline', 7741);
  before bigint;
begin
  perform pg_advisory_lock(lock);
  begin
    before := pg_sequence_last_value('kairos.timeline'::regclass);
    if before is distinct from present then
      perform setval(
        'kairos.gen_durable_id_seq'::regclass,
        coalesce(pg_sequence_last_value('kairos.gen_durable_id_seq'::regclass), 0) + 10000000);
      perform setval('kairos.timeline'::regclass, present);
      insert into kairos.incidents (kind, subject, at, detail)
      values ('failed_over', 'timeline ' || present, kairos.now(), 'timeline ' || before);
    end if;
  exception when others then
    perform pg_advisory_unlock(lock);
    raise;
  end;
  perform pg_advisory_unlock(lock);
end $$;

-- The sequence to draw ids of jobs from; a statement asks once for all of its jobs.
create function kairos.job_ids() returns regclass language plpgsql as $$
declare
  present constant bigint := kairos.wal_timeline();
begin
  if present <> pg_sequence_last_value('kairos.timeline'::regclass) then
    perform kairos.leave_old_ids(present);
  end if;
  return 'kairos.gen_durable_id_seq'::regclass;
end $$;

-- step: the timeline there is now
select setval('kairos.timeline'::regclass, coalesce(kairos.wal_timeline(), 1));
