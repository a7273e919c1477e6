"""What must hold whatever happened: checked after every order, every storm and every step of the stateful test."""

from __future__ import annotations

from collections.abc import Sequence

from tests.engine_statements import Rig

from kairos.fsm.lifecycle import STORED, TRANSITIONS

# Scheduled and pending are one stored status, told apart by the clock alone: a replay without a delay is due at once.
EDGES = {(row.verb, STORED[source], STORED[row.target]) for row in TRANSITIONS for source in row.sources}

_NOW = """
select
  array(
    select partition_key from kairos.gen_durable
    where status = 'executing' and partition_key is not null
    group by partition_key
    having count(*) > (select coalesce(max(key_concurrency), 1) from kairos.queues)
  ) as crowded,
  array(
    select g.id from kairos.gen_durable g join kairos.signals s on s.target_id = g.id
    where g.status = 'awaiting_signal' and s.consumed_at is null and s.name = any (g.awaits) and s.id <> all ($1)
  ) as unwoken,
  array(select distinct array[verb, from_state, to_state] from kairos.history) as edges,
  exists (select from kairos.gen_durable where held) as held
"""
_STUCK = """
select distinct d.partition_key from kairos.gen_durable d
where d.status = 'runnable' and d.partition_key is not null and d.eligible_at <= kairos.now()
  and (d.expires_at is null or d.expires_at > kairos.now())
  and not exists (
    select from kairos.gen_durable o
    where o.partition_key = d.partition_key
      and (o.status = 'executing' or (o.status = 'runnable' and not o.held))
  )
"""


async def hold(rig: Rig, shown: Sequence[int] = (), *, sweep: bool = True) -> None:
    """`shown` are the signals that the waiting jobs saw and left in their inbox."""
    (now,) = await rig.fetch(_NOW, list(shown))
    assert not now["crowded"], "a key runs more than it may"
    assert not now["unwoken"], "a job waits for a signal that is there"
    edges = {(verb, STORED[source], STORED[target]) for verb, source, target in now["edges"]}
    assert not edges - EDGES, "history holds what the lifecycle does not"
    if sweep and now["held"]:
        await rig.sweep()
        assert not await rig.fetch(_STUCK), "after a sweep a key has due jobs, no holder and no open head"
