-- A quota for the inbox of a job: senders are refused once it is reached, replies of other jobs are not
-- (decision 0030). How many bytes a signal takes is stored with it, so that nothing large is read to add them up.

-- step: the size of a signal, and the job whose end it tells
alter table kairos.signals add column bytes int, add column reply_of bigint;

-- step: the quota
-- Functions and not rows: only their owner can replace them. `kairos migrate` does, when a setting is given.
create function kairos.inbox_signals() returns int language sql immutable parallel safe as $$ select 10000 $$;
create function kairos.inbox_bytes() returns bigint language sql immutable parallel safe as $$ select 16777216::bigint $$;

-- step: put a signal into an inbox
-- As kairos.deliver(), but it answers 'full' where the signals that wait to be taken have reached the quota. Signals
-- that are replies do not count, and are not refused (`child` is the job that replies): the end of a job cannot wait.
create function kairos.put_signal(
  target bigint, signal text, body jsonb, dedup text, sender text, child bigint default null
) returns text language plpgsql as $$
declare
  job kairos.gen_durable;
  size int := octet_length(body::text);
  waiting bigint;
  held bigint;
begin
  select * into job from kairos.gen_durable g where g.id = target for no key update;
  if not found then
    return 'unknown';
  elsif job.completed_at is not null then
    return 'finished';
  end if;
  if child is null then
    waiting := 0;
    held := 0;
    if job.signalled then
      select count(*), coalesce(sum(coalesce(w.bytes, w.stored)), 0) into waiting, held
      from (
        select s.bytes, pg_column_size(s.payload) as stored from kairos.signals s
        where s.target_id = target and s.consumed_at is null and s.reply_of is null
        limit kairos.inbox_signals()
      ) w;
    end if;
    if waiting >= kairos.inbox_signals() or held + size > kairos.inbox_bytes() then
      return case when exists (
        select from kairos.signals s where s.target_id = target and s.dedup_key = dedup
      ) then 'duplicate' else 'full' end;
    end if;
  end if;
  insert into kairos.signals (target_id, name, payload, dedup_key, inserted_at, bytes, reply_of)
  values (target, signal, body, dedup, kairos.now(), size, child)
  on conflict (target_id, dedup_key) do nothing;
  if not found then
    return 'duplicate';
  elsif job.status = 'awaiting_signal' and signal = any (job.awaits)
    and (job.await_until is null or kairos.now() < job.await_until)
  then
    update kairos.gen_durable g set
      status = 'runnable', eligible_at = kairos.now(), signalled = true, updated_at = kairos.now(),
      awaits = null, await_until = null, await_then = null
    where g.id = target;
    insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, actor, reason, at)
    values (target, 'wake', 'waiting', 'pending', job.step, job.attempt, sender, 'signal ' || signal, kairos.now());
    return 'woke';
  end if;
  if not job.signalled then
    update kairos.gen_durable g set signalled = true where g.id = target;
  end if;
  return 'delivered';
end $$;

-- step: senders of the release before
-- They do not know the answer 'full': for them it is an error.
create or replace function kairos.deliver(target bigint, signal text, body jsonb, dedup text, sender text)
returns text language plpgsql as $$
declare
  answer text := kairos.put_signal(target, signal, body, dedup, sender);
begin
  if answer = 'full' then
    raise exception 'the inbox of job % is full: signal % was not stored', target, signal using errcode = 'KA429';
  end if;
  return answer;
end $$;

-- step: replies
-- A reply is always delivered. Where the replies that wait already take the whole quota, it comes without its output,
-- which stays with the job that replies; that is an incident. Small ones are not worth adding up.
create or replace function kairos.send_reply() returns trigger language plpgsql as $$
declare
  body jsonb := jsonb_build_object(
    'job', new.id, 'action', new.fsm, 'state', kairos.job_state(new.status, new.eligible_at, kairos.now()),
    'output', new.result, 'error', new.last_error);
begin
  if octet_length(new.result::text) > 4096 and octet_length(new.result::text) + (
    select coalesce(sum(r.bytes), 0) from (
      select s.bytes from kairos.signals s
      where s.target_id = new.reply_to and s.consumed_at is null and s.reply_of is not null
      order by s.id limit 5000
    ) r
  ) > kairos.inbox_bytes() then
    body := body || '{"output": null, "outputOmitted": true}';
    insert into kairos.incidents (kind, subject, at, job_id, detail)
    select 'replies_cut', g.fsm, kairos.now(), g.id, 'job ' || new.id
    from kairos.gen_durable g where g.id = new.reply_to and g.completed_at is null;
  end if;
  perform kairos.put_signal(new.reply_to, new.reply_name, body, 'reply:' || new.id, 'job ' || new.id, new.id);
  return null;
end $$;
