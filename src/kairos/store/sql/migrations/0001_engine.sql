-- The engine: jobs, their inbox, their history, the queues and the workers.
create type kairos.durable_status as enum
  ('runnable', 'executing', 'awaiting_signal', 'done', 'failed', 'cancelled', 'expired');

-- The only clock. STABLE and inlined, so `eligible_at <= kairos.now()` stays an index condition;
-- kairos.testing replaces its body with one that can be moved.
create function kairos.now() returns timestamptz language sql stable parallel safe
  as $$ select pg_catalog.now() $$;

create table kairos.gen_durable (
  id                  bigint generated always as identity primary key,
  fsm                 text not null,                    -- the action: name of the machine
  fsm_version         int not null default 1,
  step                text not null,
  status              kairos.durable_status not null default 'runnable',
  state               jsonb not null default '{}',
  input               jsonb,                            -- the first state, kept once state moves on
  result              jsonb,
  error_code          text,
  last_error          text,
  -- scheduling
  queue               text not null default 'default',
  priority            smallint not null default 0,      -- lower is earlier
  eligible_at         timestamptz not null,
  expires_at          timestamptz,                      -- TTL: pick needs now < it, expire needs now >= it
  ttl                 interval,                         -- as it was given, for a retry by hand
  attempt             int not null default 0,           -- of the current step; reset by Next
  reaps               smallint not null default 0,      -- how often its worker was lost
  max_reaps           smallint not null default 5,
  -- serialisation
  partition_key       text,
  key_slot            smallint not null default 0,      -- which of the key's places it runs in
  ordered             boolean not null default false,   -- keeps its place while it waits out a retry
  held                boolean not null default false,   -- due, but behind its key: out of the pick index
  -- lease
  lease               bigint not null default 0,        -- fencing token: raised by every claim, never reset
  locked_by           text,
  lease_expires_at    timestamptz,
  -- await
  awaits              text[],                           -- kept after a timeout, so the step can tell
  await_until         timestamptz,
  await_then          text,
  signalled           boolean not null default false,   -- it ever had a signal: the pick reads the inbox
  -- cancel
  cancel_requested_at timestamptz,
  cancel_reason       text,
  -- uniqueness
  unique_key          bytea,
  unique_scope        kairos.durable_status[] not null default '{}',
  unique_guard        bytea generated always as (
    case when unique_key is not null and status = any (unique_scope) then unique_key end
  ) stored,
  -- relations
  reply_to            bigint,
  reply_name          text,
  retry_of            bigint,
  tags                text[] not null default '{}',
  progress            jsonb,
  inserted_at         timestamptz not null,
  updated_at          timestamptz not null,
  started_at          timestamptz,
  picked_at           timestamptz,                      -- when its present or last run began
  completed_at        timestamptz,

  constraint completed_iff_terminal check (
    (completed_at is not null) = (status in ('done', 'failed', 'cancelled', 'expired'))),
  constraint started_iff_leased check ((started_at is not null) = (lease > 0)),
  constraint leased_iff_executing check (
    (status = 'executing') = (lease_expires_at is not null)
    and (status = 'executing') = (locked_by is not null)),
  constraint never_ran_yet check (started_at is not null or status in ('runnable', 'cancelled', 'expired')),
  constraint awaits_something check (status <> 'awaiting_signal' or coalesce(cardinality(awaits), 0) > 0),
  constraint held_has_key check (not held or (partition_key is not null and status = 'runnable')),
  constraint reply_has_name check ((reply_to is null) = (reply_name is null)),
  -- Either the key is free once the job has started, or it is taken all its life: a key that is
  -- left and entered again could collide in the middle of a job.
  constraint unique_scope_is_whole check (
    unique_key is null or unique_scope = '{runnable}'
    or unique_scope @> '{runnable,executing,awaiting_signal}')
) with (
  fillfactor = 90,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.02
);

create index gen_durable_pick on kairos.gen_durable (queue, priority, eligible_at, id)
  where status = 'runnable' and not held;
create index gen_durable_lease on kairos.gen_durable (lease_expires_at) where status = 'executing';
create unique index gen_durable_unique on kairos.gen_durable (unique_guard) where unique_guard is not null;
-- A second holder of a key's place cannot be committed.
create unique index gen_durable_key_holder on kairos.gen_durable (partition_key, key_slot)
  where status = 'executing' and partition_key is not null;
create index gen_durable_key_line on kairos.gen_durable (partition_key, priority, eligible_at, id)
  where status = 'runnable' and partition_key is not null;
create index gen_durable_held on kairos.gen_durable (partition_key, priority, eligible_at, id)
  where status = 'runnable' and held;
create index gen_durable_key_place on kairos.gen_durable (partition_key)
  where status = 'runnable' and ordered and started_at is not null and partition_key is not null;
create index gen_durable_expiry on kairos.gen_durable (expires_at)
  where status = 'runnable' and expires_at is not null;
create index gen_durable_deadline on kairos.gen_durable (await_until)
  where status = 'awaiting_signal' and await_until is not null;
create index gen_durable_completed on kairos.gen_durable (completed_at) where completed_at is not null;
create index gen_durable_replies on kairos.gen_durable (reply_to)
  where reply_to is not null and completed_at is null;

create table kairos.signals (
  id          bigint generated always as identity primary key,
  target_id   bigint not null references kairos.gen_durable (id) on delete cascade,
  name        text not null,
  payload     jsonb not null default '{}',
  dedup_key   text,
  inserted_at timestamptz not null,
  consumed_at timestamptz,        -- kept, so that a dedup key holds for the life of the job
  unique (target_id, dedup_key)
);
create index signals_inbox on kairos.signals (target_id, id) where consumed_at is null;

create table kairos.history (
  id         bigint generated always as identity,
  job_id     bigint not null,
  verb       text not null,
  from_state text not null,
  to_state   text not null,
  step       text not null,
  attempt    int not null,
  worker     text,
  actor      text,
  reason     text,
  started_at timestamptz,         -- when the step was picked, for the verbs that end a run
  at         timestamptz not null,
  primary key (job_id, id)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);

create function kairos.refuse_rewrite() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: rows are never changed', tg_table_name using errcode = 'KA403';
end $$;
create trigger history_append_only before update on kairos.history
  for each statement execute function kairos.refuse_rewrite();

create table kairos.queues (
  name            text primary key,
  paused_at       timestamptz,
  concurrency     int check (concurrency > 0),                  -- running at once, over all workers
  rate_limit      int check (rate_limit > 0),                   -- starts per rate_period
  rate_period     interval check (rate_period > interval '0'),
  rate_full_until timestamptz,                                  -- when the last admitted start is paid off
  key_concurrency smallint not null default 1 check (key_concurrency > 0),
  key_rate_limit  int check (key_rate_limit > 0),
  key_rate_period interval check (key_rate_period > interval '0'),
  check ((rate_limit is null) = (rate_period is null)),
  check ((key_rate_limit is null) = (key_rate_period is null))
);

create table kairos.key_rates (
  partition_key   text primary key,
  rate_full_until timestamptz not null,
  opens_at        timestamptz           -- it was over its rate: when its line is to be let back into the pick
);
create index key_rates_opens on kairos.key_rates (opens_at) where opens_at is not null;

-- What one start costs under a limit of n in a period: whole microseconds, so that all counting is exact.
create function kairos.rate_cost(period interval, n int) returns interval language sql immutable parallel safe
  as $$ select greatest(1, floor(extract(epoch from period) * 1000000 / n)) * interval '1 microsecond' $$;

create table kairos.workers (
  id          text primary key,
  host        text not null,
  pid         int not null,
  queues      text[] not null,
  actions     text[] not null,
  concurrency int not null,
  started_at  timestamptz not null,
  seen_at     timestamptz not null,
  stopping_at timestamptz
);

-- What left by retention, so that accepted = live + ended + purged can be checked.
create table kairos.purged (
  status kairos.durable_status primary key,
  jobs   bigint not null
);

-- The one place where a stored status becomes the state people read.
create function kairos.job_state(status kairos.durable_status, eligible_at timestamptz, at timestamptz)
returns text language sql immutable parallel safe as $$
  select case status
    when 'runnable' then case when eligible_at > at then 'scheduled' else 'pending' end
    when 'executing' then 'running'
    when 'awaiting_signal' then 'waiting'
    when 'done' then 'success'
    else status::text
  end
$$;

-- The 64-bit lock of a partition key.
create function kairos.key_lock(key text) returns bigint language sql immutable parallel safe
  as $$ select hashtextextended(key, 7741) $$;

-- The first `n` due jobs of a key's line, by (priority, eligible_at, id), held or not. An ordered
-- job that has started is the whole line until it ends or parks, due or not. Distinct priorities
-- are walked by a skip scan, so that urgent work for later is never read.
create function kairos.key_heads(key text, n int)
returns table (id bigint, place bigint) language sql stable as $$
  with recursive place as materialized (
    select g.id from kairos.gen_durable g
    where g.partition_key = key and g.status = 'runnable' and g.ordered and g.started_at is not null
    order by g.id limit 1
  ), priorities as (
    (select g.priority from kairos.gen_durable g
     where g.partition_key = key and g.status = 'runnable'
     order by g.priority limit 1)
    union all
    select (select g.priority from kairos.gen_durable g
            where g.partition_key = key and g.status = 'runnable' and g.priority > p.priority
            order by g.priority limit 1)
    from priorities p where p.priority is not null
  ), line as (
    select c.id, p.priority, c.eligible_at
    from priorities p
    cross join lateral (
      select g.id, g.eligible_at from kairos.gen_durable g
      where g.partition_key = key and g.status = 'runnable' and g.priority = p.priority
        and g.eligible_at <= kairos.now() and (g.expires_at is null or g.expires_at > kairos.now())
      order by g.eligible_at, g.id limit n
    ) c
    where p.priority is not null and not exists (select from place)
  )
  select place.id, 1::bigint from place
  union all
  (select line.id, row_number() over (order by line.priority, line.eligible_at, line.id)
   from line order by 2 limit n)
$$;

-- Put a signal into a job's inbox and wake the job if it waits for that name. The target's row is
-- always locked first, so that a park under way is either seen here or sees the signal itself.
create function kairos.deliver(target bigint, signal text, body jsonb, dedup text, sender text)
returns text language plpgsql as $$
declare
  job kairos.gen_durable;
begin
  select * into job from kairos.gen_durable g where g.id = target for no key update;
  if not found then
    return 'unknown';
  elsif job.completed_at is not null then
    return 'finished';
  end if;
  insert into kairos.signals (target_id, name, payload, dedup_key, inserted_at)
  values (target, signal, body, dedup, kairos.now())
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

-- A job that names whom to reply to sends its end there in the commit that ends it, whatever ended it.
create function kairos.send_reply() returns trigger language plpgsql as $$
begin
  perform kairos.deliver(
    new.reply_to, new.reply_name,
    jsonb_build_object('job', new.id, 'action', new.fsm,
                       'state', kairos.job_state(new.status, new.eligible_at, kairos.now()),
                       'output', new.result, 'error', new.last_error),
    'reply:' || new.id, 'job ' || new.id);
  return null;
end $$;
create trigger gen_durable_reply after update on kairos.gen_durable
  for each row when (old.completed_at is null and new.completed_at is not null and new.reply_to is not null)
  execute function kairos.send_reply();
