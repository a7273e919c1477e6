"""The floor: the least a Python program must do on this schema. `python -m bench.floor work|enqueue|send …`.

It is a floor of work, not of waiting: it claims, finishes and claims again, each commit on the disk before the
next begins, so whoever overlaps the three may come out ahead of it.
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

from bench.machines import QUEUE
from kairos.machine.call import Call, Options
from kairos.store.query import statements
from kairos.verbs import insert

BATCH = 100
# As Kairos has them on its connections: neither side is slowed by planning a statement anew.
PLANS = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}

CLAIM = """
update kairos.gen_durable g set
  status = 'executing', lease = g.lease + 1, locked_by = $3, lease_expires_at = now() + interval '30 seconds',
  started_at = coalesce(g.started_at, now()), updated_at = now()
where g.id = any (array(
  select d.id from kairos.gen_durable d
  where d.queue = $1 and d.status = 'runnable' and not d.held and d.eligible_at <= now()
  order by d.priority, d.eligible_at, d.id limit $2
  for no key update skip locked
))
returning g.id, g.fsm, g.step, g.state::text, g.attempt
"""

FINISH = """
with finished as (
  update kairos.gen_durable g set
    status = 'done', completed_at = now(), locked_by = null, lease_expires_at = null, updated_at = now()
  where g.id = any ($1::bigint[]) and g.status = 'executing'
  returning g.id, g.step, g.attempt, g.started_at
)
insert into kairos.history (job_id, verb, from_state, to_state, step, attempt, worker, started_at, at)
select f.id, 'done', 'running', 'success', f.step, f.attempt, $2, f.started_at, now() from finished f
"""


async def work() -> None:
    """Claim and finish until the input ends. `go` on the input opens the gate."""
    url = os.environ["KAIROS_DATABASE_URL"]
    connection = await asyncpg.connect(url, server_settings=PLANS)
    listener = await asyncpg.connect(url)
    poked = asyncio.Event()
    await listener.add_listener("kairos", lambda *_: poked.set())
    waits: list[float] = []
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    ended = loop.run_in_executor(None, sys.stdin.readline)
    while not ended.done():
        poked.clear()
        rows = await connection.fetch(CLAIM, QUEUE, BATCH, "floor")
        if not rows:
            await asyncio.wait(
                [asyncio.create_task(poked.wait()), ended], timeout=1, return_when="FIRST_COMPLETED"
            )
            continue
        for row in rows:
            if row["fsm"] == "stamp":
                waits.append(time.monotonic() - json.loads(row["state"])["sent"])
        await connection.execute(FINISH, [row["id"] for row in rows], "floor")
    print(json.dumps({"waits": waits}), flush=True)


async def enqueue(kind: str, seconds: float) -> None:
    """Kairos's own insert statement, as often as fits; parameters made beforehand, no hint sent."""
    connection = await asyncpg.connect(os.environ["KAIROS_DATABASE_URL"], server_settings=PLANS)
    sql = statements("kairos")["insert_jobs"]
    params = insert_params(1 if kind == "one" else 1000)
    count, began = 0, time.monotonic()
    while time.monotonic() - began < seconds:
        count += len(await connection.fetch(sql, *params))
    print(json.dumps({"jobs": count, "seconds": time.monotonic() - began}), flush=True)


async def send(count: int, rate: float) -> None:
    """Enqueue stamps one at a time at a steady rate, as `bench.client send` does through Kairos."""
    connection = await asyncpg.connect(os.environ["KAIROS_DATABASE_URL"], server_settings=PLANS)
    sql = statements("kairos")["insert_jobs"]
    began = time.monotonic()
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        await connection.fetch(sql, *insert_params(1, "stamp", f'{{"sent":{time.monotonic()!r}}}'))
        await connection.execute("select pg_notify('kairos', $1)", QUEUE)


def insert_params(jobs: int, action: str = "noop", state: str = '{"n":1}') -> tuple[Any, ...]:
    return insert([Call(action, 1, "run", state, QUEUE, None, Options())] * jobs).params


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work"]:
            uvloop.run(work())
        case ["enqueue", kind, seconds]:
            uvloop.run(enqueue(kind, float(seconds)))
        case ["send", count, rate]:
            uvloop.run(send(int(count), float(rate)))
