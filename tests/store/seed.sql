-- 30,000 settled jobs, then 30,000 live ones of every kind; far more is due later, and more urgently, than now.
insert into kairos.gen_durable (fsm, step, queue, priority, eligible_at, inserted_at, updated_at)
select 'act', 'run', 'default', 0, now() - interval '30 days', now() - interval '30 days', now()
from generate_series(1, 30000);
update kairos.gen_durable set status = 'executing', lease = 1, started_at = now(), locked_by = 'w', lease_expires_at = now();
update kairos.gen_durable set status = 'done', locked_by = null, lease_expires_at = null,
  completed_at = now() - (id / 2000) * interval '1 day';

insert into kairos.gen_durable
  (fsm, step, queue, priority, eligible_at, expires_at, partition_key, held, unique_key, unique_scope, inserted_at, updated_at)
select 'act', 'run',
  case when n % 10 = 0 then 'other' else 'default' end,
  case when n <= 20000 then -1 else n % 3 end,
  case when n <= 20000 then now() + interval '30 days' else now() - n * interval '1 ms' end,
  case when n % 7 = 0 then now() + (n - 1000) * interval '1 s' end,
  case when n % 5 = 0 then 'key ' || n % 300 end,
  n > 22000 and n % 5 = 0,
  case when n % 11 = 0 then convert_to('unique ' || n, 'UTF8') end,
  case when n % 11 = 0 then '{runnable,executing,awaiting_signal}' else '{}' end::kairos.durable_status[],
  now(), now()
from generate_series(1, 30000) as n;

-- Some of them run, some of those past their lease, and some wait, some of those past their deadline.
update kairos.gen_durable set status = 'executing', lease = 1, started_at = now(), held = false,
  locked_by = 'w' || id % 5, lease_expires_at = now() + (id % 100 - 5) * interval '1 s'
where id > 59000 and partition_key is null;
update kairos.gen_durable set status = 'awaiting_signal', locked_by = null, lease_expires_at = null, awaits = '{paid}',
  await_until = case when id % 2 = 0 then now() + (id % 1000 - 20) * interval '1 s' end
where status = 'executing' and id % 2 = 0;

insert into kairos.signals (target_id, name, dedup_key, inserted_at, consumed_at)
select id, 'paid', 'd' || n, now(), case when n > 1 then now() end
from kairos.gen_durable, generate_series(1, 5) as n where id > 55000;
insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, at)
select id, 'done', 'running', 'success', 'run', 0, now() from kairos.gen_durable where id <= 30000;

-- What lists look for: a rare queue and action long ago, children, groups of errors, searchable arguments.
set session_replication_role = replica;
update kairos.gen_durable set queue = 'rare', fsm = 'rare' where id <= 20;
update kairos.gen_durable set reply_to = 1 + id % 10, reply_name = 'ended' where id between 1000 and 5999;
update kairos.gen_durable set retry_of = 1 + id % 10 where id between 3000 and 5999;
update kairos.gen_durable set schedule = 'nightly' where id between 6000 and 9000;
update kairos.gen_durable set search = array['email:' || id % 1000 || '@example.com'] where id between 9000 and 15000;
update kairos.gen_durable set status = 'failed', error_code = 'ValueError', error_group = 'group ' || id % 50
where id between 15000 and 18000;
set session_replication_role = default;

analyze kairos.gen_durable, kairos.signals, kairos.history;

-- 20,000 requests by a few busy callers, about a few busy things, and one long ago of somebody else.
insert into kairos.audit (at, actor, verb, target, request_id, status)
values (now() - interval '30 days', 'rare', 'addKey', 'rare', 'r0', 201),
       (now() - interval '30 days', 'key 1', 'rare', 'thing 1', 'r1', 201);
insert into kairos.audit (at, actor, verb, target, request_id, status)
select now(), 'key ' || n % 3, 'enqueue' || n % 3, 'thing ' || n % 5, 'r', 201 from generate_series(1, 20000) as n;
analyze kairos.audit;
