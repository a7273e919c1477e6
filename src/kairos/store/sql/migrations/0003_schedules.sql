-- Schedules: a recurrence plus what to enqueue. Each firing is a tick, with an identity of its own.
create table kairos.schedules (
  name            text primary key,
  generation      int not null default 1,        -- raised by every edit: its ticks are new ticks
  intent          text not null,                 -- what the person wrote
  sentence        text not null,                 -- what it means; compiles to the same plan again
  tz              text not null,
  -- what to enqueue
  fsm             text not null,
  fsm_version     int not null,
  step            text not null,
  state           jsonb not null,
  queue           text not null,
  priority        smallint not null default 0,
  partition_key   text,
  ttl             interval,
  tags            text[] not null default '{}',
  -- policies
  overlap         text not null default 'allow' check (overlap in ('allow', 'skip', 'queue', 'cancel')),
  catch_up        text not null default 'last' check (catch_up in ('none', 'last', 'all')),
  catch_up_within interval not null default '1 day',
  jitter          interval not null default '0',
  starts_at       timestamptz,
  ends_at         timestamptz,
  count           int check (count > 0),         -- how many ticks were asked for
  ticks_left      int check (ticks_left between 0 and count),
  -- where it stands
  cursor_at       timestamptz not null,          -- every tick up to here is decided
  next_tick_at    timestamptz,                   -- null: it has come to its end
  paused_at       timestamptz,
  pause_reason    text,
  paused_until    timestamptz,                   -- ticks up to here fell into the last pause
  declared_by     text,                          -- the named app whose code declares it; null: nobody's to pause
  inserted_at     timestamptz not null,
  updated_at      timestamptz not null
);
create index schedules_due on kairos.schedules (next_tick_at) where paused_at is null and next_tick_at is not null;
create index schedules_cancelling on kairos.schedules (name) where overlap = 'cancel';

create table kairos.ticks (
  schedule   text not null,
  generation int not null,
  tick_at    timestamptz not null,
  job_id     bigint,                             -- null: it was skipped
  reason     text,                               -- why it was skipped
  decided_at timestamptz not null,
  primary key (schedule, tick_at, generation),   -- in this order, the ticks of all generations are one range
  check ((job_id is null) = (reason is not null))
);
create index ticks_decided on kairos.ticks (decided_at);   -- for retention
create trigger ticks_append_only before update on kairos.ticks
  for each statement execute function kairos.refuse_rewrite();

alter table kairos.gen_durable add column schedule text, add column tick_at timestamptz;
create index gen_durable_schedule on kairos.gen_durable (schedule, id)
  where schedule is not null and completed_at is null;
