-- Alarms: what would otherwise be silent, made loud; and the webhooks they are sent to.

create table kairos.alarms (
  id              bigint generated always as identity primary key,
  kind            text not null,
  subject         text not null,               -- which queue, action, schedule, worker …
  severity        text not null check (severity in ('error', 'warning')),
  cause           text not null,
  remedy          text not null,
  count           bigint not null,             -- what happened: how often; what lasts: how many it concerns now
  first_at        timestamptz not null,
  last_at         timestamptz not null,
  acknowledged_at timestamptz,
  acknowledged_by text,
  cleared_at      timestamptz
);
-- Of two watchers that find the same, one raises it.
create unique index alarms_open on kairos.alarms (kind, subject) where cleared_at is null;
create index alarms_cleared on kairos.alarms (cleared_at) where cleared_at is not null;

-- When somebody last looked, so that any number of workers look as often as one.
create table kairos.watch (
  singleton  boolean primary key default true check (singleton),
  looked_at  timestamptz not null,
  decayed_at timestamptz not null,             -- … at retention, vacuum and open transactions
  counted_at timestamptz not null              -- … at the ledger, job by job
);

-- What happened, written by the commit in which it happened and taken by the next look: each is counted once,
-- in whatever order commits become visible.
create table kairos.incidents (
  id      bigint generated always as identity primary key,
  kind    text not null,
  subject text not null,
  n       bigint not null default 1,
  at      timestamptz not null,
  job_id  bigint,
  detail  text
);

create function kairos.note_loss() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  if new.reaps > old.reaps then
    insert into kairos.incidents (kind, subject, at, job_id, detail)
    values ('leases_reaped', new.fsm, kairos.now(), new.id, old.locked_by);
  end if;
  -- A webhook's own deliveries are looked at by webhook, see find_alarms.
  -- (The name is put together, so that it stays the same in a schema of another name.)
  if old.completed_at is null and new.completed_at is not null and new.status in ('failed', 'expired')
    and new.fsm <> 'kairos' || '.webhook'
  then
    insert into kairos.incidents (kind, subject, at, job_id, detail)
    values (
      case when new.status = 'expired' then 'jobs_expired'
           when new.reaps > new.max_reaps then 'jobs_poisoned' else 'jobs_failed' end,
      new.fsm, kairos.now(), new.id, left(new.last_error, 300));
  end if;
  return null;
end $$;
create trigger gen_durable_loss after update of completed_at, reaps on kairos.gen_durable
  for each row when (new.status in ('failed', 'expired') or new.reaps > old.reaps)
  execute function kairos.note_loss();

create function kairos.note_missed_tick() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into kairos.incidents (kind, subject, at, detail)
  values ('ticks_missed', new.schedule, kairos.now(), new.tick_at || ': ' || new.reason);
  return null;
end $$;
create trigger ticks_missed after insert on kairos.ticks
  for each row when (new.reason like 'missed:%') execute function kairos.note_missed_tick();

-- What a worker tells of itself besides being there.
alter table kairos.workers
  add column machines   text[] not null default '{}',   -- action@version, for each it knows
  add column unknown    text[] not null default '{}',   -- those it was lately given and does not know
  add column stale      bigint not null default 0,      -- commits of its own that were refused
  add column clock_skew interval,                       -- its clock, less the database's
  add column deaf_since timestamptz,                    -- LISTEN hears nothing since then
  add column retention  interval;                       -- how long it keeps what has ended

create function kairos.note_stale() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into kairos.incidents (kind, subject, n, at)
  values ('commits_stale', new.id, new.stale - case when tg_op = 'UPDATE' then old.stale else 0 end, kairos.now());
  return null;
end $$;
create trigger workers_stale_at_first after insert on kairos.workers
  for each row when (new.stale > 0) execute function kairos.note_stale();
create trigger workers_stale after update of stale on kairos.workers
  for each row when (new.stale > old.stale) execute function kairos.note_stale();

create index gen_durable_waiting on kairos.gen_durable (updated_at)
  where status = 'awaiting_signal' and await_until is null;
create index schedules_paused on kairos.schedules (name) where paused_at is not null;

-- The ledger: a row for each statement that inserted or deleted jobs, folded into one by the watch. It is written by
-- the same commit as the jobs, so that `accepted = live + ended + purged` is exact in every snapshot.
create table kairos.job_ledger (
  accepted    bigint not null default 0,
  removed     bigint not null default 0,
  written_off bigint not null default 0        -- of those removed, not by retention, and accepted by somebody as lost
);
create function kairos.count_accepted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into kairos.job_ledger (accepted) select count(*) from fresh having count(*) > 0;
  return null;
end $$;
create trigger gen_durable_accepted after insert on kairos.gen_durable
  referencing new table as fresh for each statement execute function kairos.count_accepted();
create function kairos.count_removed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into kairos.job_ledger (removed) select count(*) from gone having count(*) > 0;
  return null;
end $$;
create trigger gen_durable_removed after delete on kairos.gen_durable
  referencing old table as gone for each statement execute function kairos.count_removed();
insert into kairos.job_ledger (accepted, removed)
select (select count(*) from kairos.gen_durable) + p.jobs, p.jobs
from (select coalesce(sum(jobs), 0) as jobs from kairos.purged) p;

create table kairos.webhooks (
  id         bigint generated always as identity primary key,
  url        text not null,
  secret     text not null,                    -- signs what is sent; shown once, when it is made
  kinds      text[] not null default '{}',     -- of alarms; none: all
  paused_at  timestamptz,
  created_at timestamptz not null,
  created_by text
);
create index gen_durable_deliveries on kairos.gen_durable ((state ->> 'webhook'), id)
  where fsm = 'kairos' || '.webhook';
