-- What the SQL interface needs (kairos.enqueue and its like are in sql/interface, applied by `kairos migrate`).

-- step: an INSERT need not name the timestamps
alter table kairos.gen_durable
  alter column eligible_at set default kairos.now(),
  alter column inserted_at set default kairos.now(),
  alter column updated_at set default kairos.now();

-- step: functions with the owner's rights are for workers and the service
-- A role of the SQL interface may use the schema too. Runtime roles are granted these by every migration.
revoke execute on function kairos.retire_audit(int) from public;
revoke execute on function kairos.leave_old_ids(bigint) from public;
