-- The tally: what happened by minute, by hour and ever, for each action and queue, counted from jobs and history.

-- When the run that a row ends was due; started_at - due_at is how long it waited. Null on a step that was run ahead.
alter table kairos.history add column due_at timestamptz;

create table kairos.tallies (
  grain     int not null,                    -- the seconds of a slot: 60 or 3600; 0 is one slot for ever
  at        timestamptz not null,            -- where the slot begins
  fsm       text not null,
  queue     text not null,
  accepted  bigint not null default 0,
  started   bigint not null default 0,
  success   bigint not null default 0,
  failed    bigint not null default 0,
  expired   bigint not null default 0,
  cancelled bigint not null default 0,
  retried   bigint not null default 0,
  waits     jsonb not null default '{}',     -- bucket: how many
  runs      jsonb not null default '{}',
  primary key (grain, at, fsm, queue)
) with (fillfactor = 70);

-- How far each source is counted. Ids are given out before the commit: up to `seen` all are decided only once the
-- transactions that were writing then (`writers`) are over.
create table kairos.tally_cursors (
  source    text primary key check (source in ('jobs', 'history')),
  counted   bigint not null default 0,
  seen      bigint not null default 0,
  writers   text[] not null default '{}',
  seen_at   timestamptz,
  counted_at timestamptz                      -- everything committed before this instant is counted
);

-- Ended jobs that are counted in the tally and were deleted since, whoever deleted them.
create table kairos.forgotten (
  state text primary key,
  jobs  bigint not null
);

-- Lengths of time on a log scale: bucket 0 is up to 0.1 ms, each further one is 1.2 times as wide as the one before.
-- One expression, so that it is inlined: as a call it would cost more than all else that is done to a row.
create function kairos.bucket(length interval) returns int language sql immutable parallel safe as $$
  select case when date_part('epoch', length) <= 0.0001 then 0
    else least(150, 1 + floor(ln(date_part('epoch', length) * 10000) / 0.1823215567939546))::int end
$$;

create function kairos.add_buckets(one jsonb, other jsonb) returns jsonb language sql immutable parallel safe as $$
  select coalesce(jsonb_object_agg(b.bucket, b.n), '{}') from (
    select e.key as bucket, sum(e.value::bigint) as n
    from (select * from jsonb_each_text(one) union all select * from jsonb_each_text(other)) as e
    group by e.key
  ) b
$$;

-- The cursor is locked meanwhile: a count under way has either seen these rows or will not.
create function kairos.forget_history() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  upto bigint;
begin
  select c.counted into upto from kairos.tally_cursors c where c.source = 'history' for share;
  insert into kairos.forgotten as f (state, jobs)
  select g.to_state, count(*) from gone g
  where g.id <= upto and g.verb <> 'fail' and g.to_state in ('success', 'failed', 'cancelled', 'expired')
  group by g.to_state order by g.to_state
  on conflict (state) do update set jobs = f.jobs + excluded.jobs;
  return null;
end $$;
create trigger history_forgotten after delete on kairos.history
  referencing old table as gone for each statement execute function kairos.forget_history();
