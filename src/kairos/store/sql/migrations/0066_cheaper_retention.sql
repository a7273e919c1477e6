-- What follows a job that is deleted costs once a statement, no longer once a job (decision 0146): a cascading foreign key
-- looks for signals of each job by itself.

-- step: functions
create function kairos.delete_signals() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from kairos.signals s where s.target_id = any (array(select gone.id from gone));
  return null;
end $$;

-- As a foreign key does: the job is locked against deletion until the commit, and one that is being deleted is waited for.
create function kairos.refuse_stray_signal() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from kairos.gen_durable g where g.id = new.target_id for key share;
  if not found then
    raise exception 'job % does not exist: a signal belongs to a job', new.target_id using errcode = 'foreign_key_violation';
  end if;
  return null;
end $$;

-- step: signals belong to a job
create trigger signals_belong_to_a_job after insert or update of target_id on kairos.signals
  for each row execute function kairos.refuse_stray_signal();

-- step: signals leave with their job
create trigger gen_durable_signals after delete on kairos.gen_durable
  referencing old table as gone
  for each statement execute function kairos.delete_signals();

-- step: drop the foreign key
-- It locks both of its tables. Workers lock that of jobs first, and so does this; for the other it waits for less than
-- deadlock_timeout, and tries again.
lock table kairos.gen_durable in access exclusive mode;
set local lock_timeout = '100ms';
alter table kairos.signals drop constraint if exists signals_target_id_fkey;

-- step: history that its job's own trigger deletes is not looked up again
create or replace trigger history_leaves_with_its_job after delete on kairos.history
  referencing old table as gone
  for each statement when (pg_trigger_depth() = 0) execute function kairos.refuse_history_loss();
