-- Raise a refusal, as the checks return it; null does nothing. The field is the error's COLUMN.
create or replace function kairos.refuse(refusal text[]) returns void language plpgsql as $$
begin
  if refusal is not null then
    raise exception '%', refusal[2] using errcode = 'KA422', column = refusal[1];
  end if;
end $$;

-- The newest version of an action that a worker registered.
create or replace function kairos.find_machine(action text) returns kairos.machines language plpgsql stable as $$
declare
  machine kairos.machines;
begin
  if action like 'kairos.%' then
    perform kairos.refuse(array['action', format(
      '%L is an internal action of Kairos and cannot be enqueued: choose another.', action)]);
  end if;
  select m.* into machine from kairos.machines m where m.name = action order by m.version desc limit 1;
  if not found then
    raise exception 'No action is called %: no worker has registered it; start one that knows it, or correct the name.',
      quote_nullable(action) using errcode = 'KA404', column = 'action';
  end if;
  return machine;
end $$;

-- Enqueue a job of an action and return its id. What is left null is the action's own option, or the default.
create or replace function kairos.enqueue(
  action text,
  input jsonb default '{}',
  queue text default null,
  priority int default null,
  run_at timestamptz default null,
  delay interval default null,
  ttl interval default null,
  expires_at timestamptz default null,
  key text default null,
  ordered boolean default null,
  unique_key text default null,
  unique_scope text default null,
  if_taken text default null,
  tags text[] default null,
  retry jsonb default null
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set datestyle = 'ISO, MDY' as $$
declare
  machine constant kairos.machines := kairos.find_machine(enqueue.action);
  own jsonb := machine.options;
  refusal text[];
  scope text[];
  job bigint;
  is_new boolean;
begin
  -- The arguments.
  if jsonb_typeof(enqueue.input) is distinct from 'object' then
    perform kairos.refuse(array['input', 'input must be a JSON object with the arguments by name.']);
  end if;
  perform kairos.refuse(kairos.value_refusal(enqueue.input, 'input'));
  refusal := kairos.schema_refusal(enqueue.input, machine.input, coalesce(machine.input -> '$defs', '{}'), '');
  if refusal is not null then
    perform kairos.refuse(array[refusal[1], format('%s: %s.', machine.name, refusal[2])]);
  end if;

  -- The options: one that is given replaces the action's own, and those that say the same in another way.
  perform kairos.refuse_both('run_at', enqueue.run_at is not null, 'delay', enqueue.delay is not null);
  perform kairos.refuse_both('ttl', enqueue.ttl is not null, 'expires_at', enqueue.expires_at is not null);
  if starts_with(enqueue.unique_key, 'kairos.') then
    perform kairos.refuse(array['unique_key', 'unique_key begins with kairos., as those of Kairos itself do: choose another.']);
  end if;
  if enqueue.run_at is not null or enqueue.delay is not null then
    own := own - '{run_at,delay,when}'::text[];
  elsif own ? 'when' then
    perform kairos.refuse(array['run_at', format(
      'The time of %L is given in words, which SQL cannot read: give run_at or delay.', machine.name)]);
  end if;
  if enqueue.ttl is not null or enqueue.expires_at is not null then
    own := own - '{ttl,expires_at}'::text[];
  end if;
  if enqueue.key is null and jsonb_typeof(own -> 'key') = 'object' then
    perform kairos.refuse(array['key', format(
      'The key of %L is computed by its code, which SQL cannot run: give a key.', machine.name)]);
  end if;
  queue := coalesce(enqueue.queue, own ->> 'queue', machine.queue);
  priority := coalesce(enqueue.priority, (own ->> 'priority')::int, 0);
  run_at := coalesce(enqueue.run_at, (own ->> 'run_at')::timestamptz);
  delay := coalesce(enqueue.delay, kairos.stored_length(own -> 'delay'));
  expires_at := coalesce(enqueue.expires_at, (own ->> 'expires_at')::timestamptz);
  ttl := coalesce(enqueue.ttl, kairos.stored_length(own -> 'ttl'),
    case when enqueue.expires_at is null then machine.ttl end);
  key := coalesce(enqueue.key, own ->> 'key');
  ordered := coalesce(enqueue.ordered, (own ->> 'ordered')::boolean, false);
  unique_key := coalesce(enqueue.unique_key, own ->> 'unique');
  if_taken := coalesce(enqueue.if_taken, own ->> 'if_taken', 'raise');
  tags := coalesce(enqueue.tags, array(select * from jsonb_array_elements_text(own -> 'tags')));
  scope := kairos.unique_statuses(coalesce(to_jsonb(enqueue.unique_scope), own -> 'unique_scope', '"live"'));

  perform kairos.refuse(kairos.name_refusal(enqueue.queue, 'queue'));
  perform kairos.refuse(kairos.name_refusal(enqueue.key, 'key'));
  perform kairos.refuse(kairos.name_refusal(enqueue.unique_key, 'unique_key'));
  perform kairos.refuse(kairos.instant_refusal(enqueue.run_at, 'run_at'));
  perform kairos.refuse(kairos.instant_refusal(enqueue.expires_at, 'expires_at'));
  perform kairos.refuse(kairos.length_refusal(enqueue.delay, 'delay'));
  perform kairos.refuse(kairos.length_refusal(enqueue.ttl, 'ttl'));
  perform kairos.refuse(kairos.retry_refusal(enqueue.retry));
  if enqueue.priority not between -32768 and 32767 then
    perform kairos.refuse(array['priority', format(
      'priority is %s; it must be a whole number from -32768 to 32767.', enqueue.priority)]);
  elsif enqueue.queue = 'kairos' then
    perform kairos.refuse(array['queue', format(
      'The queue %L is for Kairos'' own jobs, such as webhooks: put %s into another.', enqueue.queue, machine.name)]);
  elsif enqueue.ordered and enqueue.key is null then
    perform kairos.refuse(array['ordered', 'ordered keeps the order of the jobs of a key: give a key too.']);
  elsif enqueue.if_taken not in ('raise', 'return') then
    perform kairos.refuse(array['if_taken', format('if_taken is %L; it is raise or return.', enqueue.if_taken)]);
  elsif cardinality(enqueue.tags) > 100 or array_position(enqueue.tags, null) is not null then
    perform kairos.refuse(array['tags', 'tags must be at most 100 texts, and none of them null.']);
  end if;
  perform kairos.refuse(kairos.name_refusal(t, 'tags')) from unnest(enqueue.tags) t;
  if enqueue.queue <> machine.queue then
    perform kairos.refuse_new_queue(enqueue.queue);
  end if;
  run_at := coalesce(enqueue.run_at, kairos.now() + enqueue.delay);
  if enqueue.expires_at is null and coalesce(enqueue.run_at, kairos.now()) + enqueue.ttl >= '9999-01-01 00:00:00+00' then
    perform kairos.refuse(array['ttl', 'ttl ends after the year 9998.']);
  end if;
  retry := '{"base": 1, "factor": 2, "cap": 3600, "jitter": 0.1}' || enqueue.retry;

  loop
    select r.id, r.is_new into job, is_new
    from kairos.run_insert_jobs(
      array[machine.name]::text, array[machine.version]::text, array[machine.step]::text, array[enqueue.input]::text,
      array[enqueue.queue]::text, array[enqueue.priority]::text, array[enqueue.key]::text, array[enqueue.ordered]::text,
      array[enqueue.run_at]::text, '{NULL}',
      array[case when enqueue.expires_at is null then floor(extract(epoch from enqueue.ttl) * 1000000)::bigint end]::text,
      array[enqueue.expires_at]::text, array[enqueue.unique_key]::text,
      array[case when enqueue.unique_key is not null then scope::text end]::text,
      '{NULL}', '{NULL}', array[enqueue.tags::text]::text, array[coalesce(own ->> 'max_reaps', '5')]::text,
      array[kairos.sql_actor()]::text, '{NULL}', '{NULL}',
      array[machine.redact::text]::text, array[enqueue.retry]::text,
      array[case when machine.search <> '{}' then machine.search::text end]::text, '{NULL}'
    ) r;
    if is_new then
      perform pg_notify('kairos', enqueue.queue);
      return job;
    end if;
    -- A holder that committed after the statement began is seen by the next one; one that left since is none any more.
    select g.id into job from kairos.gen_durable g where g.unique_guard = convert_to(enqueue.unique_key, 'UTF8');
    exit when found;
  end loop;
  if enqueue.if_taken = 'return' then
    return job;
  end if;
  raise exception 'Job % holds the unique key % and is %.', job, quote_literal(enqueue.unique_key), (
    select kairos.job_state(g.status, g.eligible_at, kairos.now()) from kairos.gen_durable g where g.id = job
  ) using errcode = 'KA409', column = 'unique_key', detail = job::text;
end $$;

create or replace function kairos.refuse_both(one text, is_one boolean, other text, is_other boolean) returns void
language plpgsql as $$
begin
  if is_one and is_other then
    perform kairos.refuse(array[one, format('%s and %s say the same thing twice: give one of them.', one, other)]);
  end if;
end $$;

-- A length of time as an action's options have it: seconds, or text such as 90s.
create or replace function kairos.stored_length(value jsonb) returns interval language sql immutable as $$
  select case jsonb_typeof(value)
    when 'number' then (value #>> '{}')::numeric * interval '1 second' when 'string' then (value #>> '{}')::interval end
$$;

-- The statuses in which a unique key is taken: by name, or as an action's options list them.
create or replace function kairos.unique_statuses(scope jsonb) returns text[] language plpgsql stable as $$
begin
  if jsonb_typeof(scope) = 'array' then
    return array(select * from jsonb_array_elements_text(scope));
  end if;
  case scope #>> '{}'
    when 'queued' then return '{runnable}';
    when 'live' then return '{runnable,executing,awaiting_signal}';
    when 'ever' then return enum_range(null::kairos.durable_status)::text[];
    else perform kairos.refuse(array['unique_scope', format(
      'unique_scope is %L; it is one of queued, live, ever.', scope #>> '{}')]);
  end case;
end $$;

-- Every queue makes the lists of queues and the checks for alarms a little slower: as the service, SQL makes 1000 at most.
create or replace function kairos.refuse_new_queue(wanted text) returns void language plpgsql as $$
declare
  known text[] := array(select q.name from kairos.run_list_queue_names(1001) q);
begin
  if cardinality(known) >= 1000 and wanted <> all (known) then
    perform kairos.refuse(array['queue', format(
      'There are %s queues, and SQL makes 1000 at most: use one of them in place of %L.', cardinality(known), wanted)]);
  end if;
end $$;

-- Who asks, in `created_by` and in the history: the role that logged in, whatever rights a function runs with.
create or replace function kairos.sql_actor() returns text language sql stable as $$ select 'sql ' || session_user $$;
