"""The recipe for KEDA follows a burst and its end: its own queries, over what /metrics of a real service says."""

from __future__ import annotations

import math
import re
from typing import Any

import httpx2
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.docs.pages import ROOT
from tests.worker.world import until

from kairos import Kairos
from kairos.api import ServiceSettings, build

RECIPE = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "keda.yaml").read_text())["spec"]
_SELECTOR = re.compile(r"(kairos_\w+)\{([^}]*)\}")


def replicas(text: str) -> int:
    """What KEDA asks for: the greatest of the triggers' values over their thresholds, rounded up and within bounds."""
    wanted = [
        math.ceil(value(each["metadata"]["query"], text) / float(each["metadata"]["threshold"]))
        for each in RECIPE["triggers"]
    ]
    return min(max(*wanted, RECIPE["minReplicaCount"]), RECIPE["maxReplicaCount"])


def value(query: str, text: str) -> float:
    """The answer of Prometheus to a query of the recipe, with one service scraped."""
    (found,) = _SELECTOR.finditer(query)
    labels = dict(re.findall(r'(\w+)=~?"([^"]*)"', found[2]))
    matching = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == found[1]
        and all(re.fullmatch(pattern, sample.labels.get(label, "")) for label, pattern in labels.items())
    ]
    combine: Any = sum if query.startswith("sum(") else max
    return combine(matching) if matching else 0.0


async def test_the_scaler_follows_a_burst_and_its_end(database):
    app = Kairos(database)

    @app.job(queue="mail")
    async def send(number: int) -> None: ...

    service = build(app, ServiceSettings(open=True))
    transport = httpx2.ASGITransport(service)
    async with app, httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:

        async def asked() -> int:
            return replicas((await client.get("/metrics")).text)

        async def asks_for(count: int) -> bool:
            return await asked() == count

        assert await asked() == RECIPE["minReplicaCount"]
        await app.enqueue_many(send.call(number=n) for n in range(750))
        await until(lambda: asks_for(8))
        await app.enqueue_many(send.call(number=n) for n in range(5000))
        await until(lambda: asks_for(RECIPE["maxReplicaCount"]))
        async with app.worker(queues=["mail"], concurrency=50):
            await until(lambda: asks_for(RECIPE["minReplicaCount"]))
        await service.close()


async def test_slow_jobs_that_make_no_long_queue_raise_the_scale_by_their_wait(database):
    app = Kairos(database)

    @app.job(queue="reports")
    async def report() -> None: ...

    service = build(app, ServiceSettings(open=True))
    transport = httpx2.ASGITransport(service)
    async with app, httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        job = await app.enqueue(report.call())
        async with app.store.connection() as connection:
            await connection.execute(
                "update kairos.gen_durable set eligible_at = eligible_at - interval '95 seconds' where id = $1",
                job.id,
            )

        async def asks_for_four() -> bool:
            return replicas((await client.get("/metrics")).text) == 4

        await until(asks_for_four)
        await service.close()
