"""Gives the shop a past: jobs of the last day in any number, written as one bulk load, and one that failed last night.

python -m tests.dashboard.shop_past postgresql://…  [--jobs 1000000]
"""

from __future__ import annotations

import argparse
import sys
import time

import psycopg
from tests.dashboard.site import Site

CUSTOMER = "a@example.com"
_PORTION = 100_000

# Nine in ten jobs succeeded. Of the others most failed, of two hundred errors; a few are late, wait or were cancelled.
_JOBS = """
insert into kairos.gen_durable
  (fsm, step, state, input, queue, eligible_at, partition_key, tags, schedule, inserted_at, updated_at, status, lease,
   started_at, picked_at, completed_at, awaits, error_code, last_error, error_group, error_frame, search, result)
select k.fsm, k.step, i.input, i.input, k.queue,
  case when s.status = 'runnable' then now() + n %% 86400 * interval '1 s' else t.at end,
  case when n %% 10 = 3 then 'order:' || n %% 20000 end,
  case when n %% 7 = 0 then array['customer:' || n %% 5000] else '{}' end,
  case when n %% 50 = 9 then 'nightly-' || n %% 5 end,
  t.at, t.at, s.status, case when s.status in ('runnable', 'expired') then 0 else 1 end,
  case when s.status not in ('runnable', 'expired') then t.at + interval '40 ms' end,
  case when s.status not in ('runnable', 'expired') then t.at + interval '40 ms' end,
  case when s.status not in ('runnable', 'awaiting_signal') then t.at + (50 + n %% 900) * interval '1 ms' end,
  case when s.status = 'awaiting_signal' then array['delivered'] end,
  case when s.status = 'failed' then 'ValueError' end,
  case when s.status = 'failed' then 'ValueError: number ' || n %% 200 || ' went wrong for customer ' || n %% 50000 end,
  case when s.status = 'failed' then 'past' || n %% 200 end,
  case when s.status = 'failed' then 'shop.py:' || n %% 200 || ' in ' || k.step end,
  case when k.search is not null then array[k.search || ':' || coalesce(i.input ->> k.search, '')] end,
  case when s.status = 'done' then to_jsonb(n) end
from generate_series(%(first)s::int, %(last)s::int) n
cross join lateral (select now() - (%(jobs)s - n) * (interval '8 hours' / %(jobs)s) as at) t
cross join lateral (
  select (array['greet', 'echo', 'fail', 'order', 'checkout', 'flaky'])[1 + n %% 6] as fsm,
    (array['run', 'run', 'run', 'ship', 'charge', 'run'])[1 + n %% 6] as step,
    (array['default', 'default', 'default', 'orders', 'checkout', 'default'])[1 + n %% 6] as queue,
    (array['name', 'value', 'why', 'order_id', 'email', 'failures'])[1 + n %% 6] as argument,
    (array['name', null, null, null, 'email', null])[1 + n %% 6] as search
) k
cross join lateral (
  select jsonb_build_object(k.argument,
    case when k.fsm = 'flaky' then to_jsonb(n %% 2)
      else to_jsonb('customer' || n %% 50000 || '@example.com') end) as input
) i
cross join lateral (
  select (case when n %% 100 < 90 then 'done' when n %% 100 < 95 then 'failed' when n %% 100 < 97 then 'cancelled'
    when n %% 100 < 98 then 'expired' when n %% 100 < 99 then 'awaiting_signal'
    else 'runnable' end)::kairos.durable_status as status
) s
"""
_EARLIER = """
update kairos.gen_durable set
  inserted_at = inserted_at - interval '9 hours', updated_at = updated_at - interval '9 hours',
  eligible_at = eligible_at - interval '9 hours', started_at = started_at - interval '9 hours',
  picked_at = picked_at - interval '9 hours', completed_at = completed_at - interval '9 hours'
where id = any (%(ids)s);
update kairos.history set at = at - interval '9 hours', started_at = started_at - interval '9 hours',
  due_at = due_at - interval '9 hours'
where job_id = any (%(ids)s);
update kairos.logs set at = at - interval '9 hours' where job_id = any (%(ids)s)
"""


def last_night(site: Site) -> int:
    """Make jobs of the customer, one of which failed, and others that failed alike; answer the failed one."""
    jobs = [
        site.enqueue("checkout", {"email": mail, "total": total, "card": card})
        for mail, total, card in (
            (CUSTOMER, 12, "valid"),
            *((f"late{number}@example.com", 30, "expired") for number in range(4)),
            (CUSTOMER, 25, "expired"),
            (CUSTOMER, 31, "valid"),
        )
    ]
    for job in jobs:
        site.until(job, "success", "failed")
    with psycopg.connect(site.database, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")
        for statement in _EARLIER.split(";"):
            connection.execute(statement, {"ids": jobs})
    return jobs[-2]


def fill(url: str, jobs: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        # The guard refuses rows that begin as finished: for this, and only here, it looks away.
        connection.execute("set session_replication_role = replica")
        connection.execute("set synchronous_commit = off")
        for first in range(1, jobs + 1, _PORTION):
            connection.execute(_JOBS, {"jobs": jobs, "first": first, "last": min(jobs, first + _PORTION - 1)})
        connection.execute("vacuum (analyze) kairos.gen_durable")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.dashboard.shop_past")
    parser.add_argument("database")
    parser.add_argument("--jobs", type=int, default=1_000_000)
    given = parser.parse_args()
    began = time.monotonic()
    fill(given.database, given.jobs)
    sys.stdout.write(f"{given.jobs:,} jobs stored in {time.monotonic() - began:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
