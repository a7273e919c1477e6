create or replace function kairos.send_signal(job bigint, key text, signal text, body jsonb, dedup text) returns text
language plpgsql as $$
declare
  target constant text := coalesce(job::text, quote_nullable(key));
  sent record;
begin
  if signal is null then
    perform kairos.refuse(array['name', 'name is null; it must be text of 1 to 255 characters.']);
  end if;
  perform kairos.refuse(kairos.name_refusal(signal, 'name'));
  perform kairos.refuse(kairos.name_refusal(dedup, 'dedup_key'));
  perform kairos.refuse(kairos.value_refusal(body, 'payload'));
  select * into sent from kairos.run_deliver_signal(
    job, convert_to(key, 'UTF8'), signal, coalesce(body, '{}')::text, dedup, kairos.sql_actor());
  case sent.answer
    when 'unknown' then
      raise exception 'There is no live job % to send % to.', target, quote_literal(signal) using errcode = 'KA404';
    when 'finished' then
      raise exception 'Job % has ended and takes no more signals; % was not stored.', sent.id, quote_literal(signal)
        using errcode = 'KA409';
    when 'full' then
      raise exception 'The inbox of job % is full: % was not stored. It holds at most % signals and % bytes; send it again '
        'once the job has taken some.', sent.id, quote_literal(signal), sent.most_signals, sent.most_bytes
        using errcode = 'KA429';
    when 'woke' then
      perform pg_notify('kairos', g.queue) from kairos.gen_durable g where g.id = sent.id;
    else null;
  end case;
  return sent.answer;
end $$;

-- Send a signal to a job by its id; returns woke, delivered or duplicate.
create or replace function kairos.signal(
  job bigint, name text, payload jsonb default '{}', dedup_key text default null
) returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return kairos.send_signal(job, null, name, payload, dedup_key);
end $$;

-- Send a signal to the job that holds a unique key.
create or replace function kairos.signal(
  unique_key text, name text, payload jsonb default '{}', dedup_key text default null
) returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return kairos.send_signal(null, unique_key, name, payload, dedup_key);
end $$;

-- Cancel a job, and return its state: cancelled, or running if its step has to honour the request first.
create or replace function kairos.cancel(job bigint, reason text default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  asked record;
begin
  if length(reason) > 4000 then
    perform kairos.refuse(array['reason', format('reason has %s characters; the limit is 4000.', length(reason))]);
  end if;
  select * into asked from kairos.run_cancel_jobs(array[job], reason, kairos.sql_actor());
  if not found then
    raise exception 'There is no job %.', coalesce(job::text, 'null') using errcode = 'KA404';
  elsif not asked.done then
    raise exception 'Job % is % and cannot be cancelled.', job, asked.state using errcode = 'KA409';
  end if;
  if asked.freed_key is not null then
    perform pg_notify('kairos', o.queue) from kairos.run_open_keys(array[asked.freed_key]) o;
  end if;
  if asked.running then
    perform pg_notify('kairos_cancel', job::text);
    return 'running';
  end if;
  return 'cancelled';
end $$;
