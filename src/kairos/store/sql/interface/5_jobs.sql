-- A value with one field hidden; `card.number` names a nested field, also in each item of a list.
create or replace function kairos.hide_field(value jsonb, field text) returns jsonb
language plpgsql immutable parallel safe as $$
declare
  head constant text := split_part(field, '.', 1);
begin
  case
    when jsonb_typeof(value) = 'array' then
      return (select coalesce(jsonb_agg(kairos.hide_field(e.item, field) order by e.n), '[]')
              from jsonb_array_elements(value) with ordinality as e (item, n));
    when jsonb_typeof(value) <> 'object' then
      return value;
    when value ? field then
      return value || jsonb_build_object(field, '[redacted]');
    when head <> field and value ? head then
      return value || jsonb_build_object(head, kairos.hide_field(value -> head, substr(field, length(head) + 2)));
    else
      return value;
  end case;
end $$;

create or replace function kairos.hide_fields(value jsonb, fields text[]) returns jsonb
language plpgsql immutable parallel safe as $$
declare
  field text;
begin
  foreach field in array coalesce(fields, '{}') loop
    value := kairos.hide_field(value, field);
  end loop;
  return value;
end $$;

-- A unique key as text; bytes that are none, which only an INSERT of one's own can store, as escapes.
create or replace function kairos.key_text(key bytea) returns text language plpgsql immutable as $$
begin
  return convert_from(key, 'UTF8');
exception when character_not_in_repertoire or untranslatable_character then
  return encode(key, 'escape');
end $$;

-- Jobs in the words of the API. The input is redacted as it is there.
create or replace view kairos.jobs as
select
  g.id, g.fsm as action, g.fsm_version as version, kairos.job_state(g.status, g.eligible_at, kairos.now()) as state,
  g.step, g.attempt, g.queue, g.priority, g.partition_key as key, g.tags,
  kairos.hide_fields(coalesce(g.input, g.state), g.redact || (
    select m.redact from kairos.machines m where m.name = g.fsm and m.version = g.fsm_version)) as input,
  g.result as output, g.error_code, g.last_error as error, g.progress, g.inserted_at as created_at,
  g.eligible_at as run_at, g.started_at, g.completed_at, g.expires_at, g.cancel_requested_at, g.cancel_reason, g.retry_of,
  g.reply_to as parent, g.schedule, g.locked_by as worker, g.awaits, g.await_until,
  case when g.unique_key is not null then kairos.key_text(g.unique_key) end as unique_key, g.created_by
from kairos.gen_durable g;

-- Let a role use this interface, and nothing else of Kairos.
create or replace function kairos.grant_client(role text) returns void language plpgsql as $$
declare
  place constant text := (select c.relnamespace::regnamespace::text from pg_class c where c.oid = 'kairos.jobs'::regclass);
begin
  execute format('grant usage on schema %s to %I', place, role);
  execute format('grant select on %s.jobs to %I', place, role);
  execute format('grant execute on function %1$s.enqueue, %1$s.cancel, %1$s.signal(bigint, text, jsonb, text), '
    '%1$s.signal(text, text, jsonb, text) to %2$I', place, role);
end $$;

-- They have the owner's rights.
revoke execute on function kairos.enqueue, kairos.cancel, kairos.signal(bigint, text, jsonb, text),
  kairos.signal(text, text, jsonb, text) from public;
-- A GRANT by somebody who may not would only be warned of.
revoke execute on function kairos.grant_client from public;
