"""The floor: the least that a Python program must do for a queue with history. `python -m bench.floor work|enqueue|…`.

It has two small tables, claims and finishes a hundred jobs in turns, and writes one history row a job; it has no
leases, retries, timeouts, keys or fences. It is the least work, not the shortest time: each commit is on the disk
before the next statement is sent, so a program that overlaps them may be faster.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

import asyncpg
import uvloop

from bench.worker_actions import QUEUE

BATCH = 100
# As on the connections of Kairos, so that neither side plans a statement at each execution.
PLANS = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}

SCHEMA = """
create schema if not exists floor;
create table if not exists floor.jobs (
  id          bigint generated always as identity primary key,
  queue       text not null,
  action      text not null,
  input       jsonb not null,
  status      smallint not null default 0,     -- 0 ready, 1 running, 2 done
  priority    smallint not null default 0,
  run_at      timestamptz not null default now(),
  inserted_at timestamptz not null default now(),
  started_at  timestamptz,
  done_at     timestamptz
) with (fillfactor = 90);
create index if not exists jobs_ready on floor.jobs (queue, priority, run_at, id) where status = 0;
create table if not exists floor.history (
  id         bigint generated always as identity,
  job_id     bigint not null,
  verb       text not null,
  started_at timestamptz,
  at         timestamptz not null,
  primary key (job_id, id)
);
"""
FILL = "insert into floor.jobs (queue, action, input) select %s, 'noop', '{\"n\": 0}' from generate_series(1, %s)"
CLEAR = "truncate floor.jobs, floor.history"

CLAIM = """
update floor.jobs g set status = 1, started_at = now()
where g.id = any (array(
  select d.id from floor.jobs d
  where d.queue = $1 and d.status = 0 and d.run_at <= now()
  order by d.priority, d.run_at, d.id limit $2
  for no key update skip locked
))
returning g.id, g.action, g.input::text
"""
FINISH = """
with finished as (
  update floor.jobs g set status = 2, done_at = now()
  where g.id = any ($1::bigint[]) and g.status = 1
  returning g.id, g.started_at
)
insert into floor.history (job_id, verb, started_at, at)
select f.id, 'done', f.started_at, now() from finished f
"""
INSERT = "insert into floor.jobs (queue, action, input) values ($1, $2, $3::text::jsonb) returning id"
INSERT_MANY = """
insert into floor.jobs (queue, action, input)
select $1, $2, i::jsonb from unnest($3::text[]) as i returning id
"""


async def work() -> None:
    """Claim and finish jobs from the line `go` of the input until its end."""
    url = os.environ["KAIROS_DATABASE_URL"]
    connection = await asyncpg.connect(url, server_settings=PLANS)
    listener = await asyncpg.connect(url)
    poked = asyncio.Event()
    await listener.add_listener("floor", lambda *_: poked.set())
    waits: list[float] = []
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    ended = loop.run_in_executor(None, sys.stdin.readline)
    while not ended.done():
        poked.clear()
        rows = await connection.fetch(CLAIM, QUEUE, BATCH)
        if not rows:
            await asyncio.wait(
                [asyncio.create_task(poked.wait()), ended], timeout=1, return_when="FIRST_COMPLETED"
            )
            continue
        for row in rows:
            if row["action"] == "stamp":
                waits.append(time.monotonic() - json.loads(row["input"])["sent"])
        await connection.execute(FINISH, [row["id"] for row in rows])
    print(json.dumps({"waits": waits}), flush=True)


async def enqueue(kind: str, seconds: float) -> None:
    """Enqueue one by one, or a thousand a statement, for so many seconds, without notifications."""
    connection = await _connect()
    count, began = 0, time.monotonic()
    while time.monotonic() - began < seconds:
        if kind == "one":
            await connection.fetchval(INSERT, QUEUE, "noop", json.dumps({"n": count}))
            count += 1
        else:
            inputs = [json.dumps({"n": n}) for n in range(1000)]
            count += len(await connection.fetch(INSERT_MANY, QUEUE, "noop", inputs))
    print(json.dumps({"jobs": count, "seconds": time.monotonic() - began}), flush=True)


async def send(count: int, rate: float) -> None:
    """Enqueue stamps one at a time at a steady rate, as `bench.client send` does through Kairos."""
    connection = await _connect()
    began = time.monotonic()
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        await connection.fetchval(INSERT, QUEUE, "stamp", json.dumps({"sent": time.monotonic()}))
        await connection.execute("select pg_notify('floor', $1)", QUEUE)


async def _connect() -> Any:
    return await asyncpg.connect(os.environ["KAIROS_DATABASE_URL"], server_settings=PLANS)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work"]:
            uvloop.run(work())
        case ["enqueue", kind, seconds]:
            uvloop.run(enqueue(kind, float(seconds)))
        case ["send", count, rate]:
            uvloop.run(send(int(count), float(rate)))
