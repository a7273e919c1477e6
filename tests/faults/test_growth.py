"""The judge of load: what is flat passes, and what rises from third to third is named."""

from __future__ import annotations

import asyncio
import os

from chaos.growth import Growth


def judged(*values: int, what: str = "files") -> list[str]:
    growth = Growth(lambda: "", dict)
    growth.samples[what, "worker"] = list(values)
    return list(growth.violations())


def test_what_is_flat_or_falls_passes():
    assert judged(*[100] * 30) == []
    assert judged(*range(130, 100, -1)) == []
    assert judged(*[100, 140] * 15) == []


def test_what_grows_from_third_to_third_is_named():
    assert judged(*range(0, 3000, 100)) == ["nothing_grows: the files of worker went from 1450 to 2450"]


def test_too_few_samples_prove_nothing():
    assert judged(1, 2, 3) == ["nothing_grows: too few samples of the files of worker: 3"]


async def test_processes_tables_and_connections_are_sampled(database):
    growth = Growth(lambda: database, lambda: {"test": [os.getpid()]})
    task = asyncio.ensure_future(growth.run(0.01))
    async with asyncio.timeout(30):
        while not growth.samples["connections", "all"]:
            await asyncio.sleep(0.01)
    task.cancel()
    assert growth.samples["memory", "test"][0] > 1_000_000
    assert growth.samples["files", "test"][0] > 3
    assert "gen_durable" in {name for what, name in growth.samples if what == "table"}
