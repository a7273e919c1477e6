-- Protection of the record: history leaves with its job and in no other way, and a key that was issued is final.
-- Code before this version deletes history by itself, in the statement that deletes the jobs: that goes on working.

-- step: functions
create function kairos.delete_history() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from kairos.history h where h.job_id = any (array(select gone.id from gone));
  return null;
end $$;

-- Looks once the whole statement is done: a job that it deleted too is not there any more.
create function kairos.refuse_history_loss() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from kairos.gen_durable g where g.id = any (array(select distinct gone.job_id from gone))) then
    raise exception 'history is append-only: its rows leave with their job' using errcode = 'KA403';
  end if;
  return null;
end $$;

create function kairos.refuse_key_change() returns trigger language plpgsql as $$
begin
  raise exception 'keys are final: they are only used, revoked once, and never changed or removed'
    using errcode = 'KA403';
end $$;

-- step: history leaves with its job
create trigger gen_durable_history after delete on kairos.gen_durable
  referencing old table as gone
  for each statement execute function kairos.delete_history();

-- step: history is not erased
create trigger history_leaves_with_its_job after delete on kairos.history
  referencing old table as gone
  for each statement execute function kairos.refuse_history_loss();
create trigger history_is_kept before truncate on kairos.history
  for each statement execute function kairos.refuse_rewrite();

-- step: keys are final
create trigger keys_are_final before update on kairos.keys
  for each row when (
    (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
    or (new.id, new.name, new.secret_hash, new.scopes, new.created_at, new.created_by, new.expires_at)
      is distinct from (old.id, old.name, old.secret_hash, old.scopes, old.created_at, old.created_by, old.expires_at)
  ) execute function kairos.refuse_key_change();
create trigger keys_are_kept before delete on kairos.keys
  for each row execute function kairos.refuse_key_change();
create trigger keys_are_kept_whole before truncate on kairos.keys
  for each statement execute function kairos.refuse_key_change();
