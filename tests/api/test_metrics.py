"""What Prometheus collects: text it can read, labels that stay few, counters that only grow."""

from __future__ import annotations

import re
from datetime import timedelta

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.api.test_stats import lived
from tests.engine_statements import Rig, done

from kairos import Kairos
from kairos.api.prometheus import MOST_NAMES

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


async def collect(http: httpx2.AsyncClient) -> Samples:
    answer = await http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = list(text_string_to_metric_families(answer.text))
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    assert all(family.documentation and family.type != "unknown" for family in families)
    samples: Samples = {}
    for family in families:
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in samples
            samples[key] = sample.value
    return samples


def of(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


async def test_the_numbers_are_those_of_the_database(app: Kairos, http: httpx2.AsyncClient) -> None:
    await lived(app)
    found = await collect(http)
    assert of(found, "kairos_jobs", queue="default", state="running") == 1
    assert of(found, "kairos_jobs", queue="later", state="scheduled") == 1
    assert of(found, "kairos_jobs_ended", state="success") == 2
    assert of(found, "kairos_jobs_accepted_total", action="act") == 5
    assert of(found, "kairos_jobs_finished_total", action="act", state="failed") == 1
    assert of(found, "kairos_run_seconds_count", queue="default") == 3
    assert of(found, "kairos_run_seconds_bucket", queue="default", le="+Inf") == 3
    assert of(found, "kairos_workers") == 0
    assert of(found, "kairos_alarms") == 0
    assert of(found, "kairos_statistics_behind_seconds") == 0
    assert any(name == "process_cpu_seconds_total" for name, _ in found)
    assert any(name == "kairos_info" for name, _ in found)


async def test_how_long_the_oldest_due_job_waits_is_told_by_queue(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    await Rig(app.store).enqueue(queue="slow")
    assert of(await collect(http), "kairos_oldest_pending_seconds", queue="slow") > 0


async def test_counters_and_buckets_only_grow(
    app: Kairos, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kairos.api.stats_cache.FRESH", 0.0)
    before: Samples = {}
    world = Rig(app.store)
    for _ in range(3):
        await lived(app)
        await world.run("purge_jobs", timedelta(0), 1000, None)
        found = await collect(http)
        for key, value in before.items():
            if re.search(r"_(total|bucket|count)$", key[0]):
                assert found[key] >= value, key
        bounds = [value for (name, labels), value in found.items() if name == "kairos_run_seconds_bucket"]
        assert bounds == sorted(bounds)
        before = found


async def test_requests_are_told_by_the_template_of_their_path(http: httpx2.AsyncClient) -> None:
    for path in ("/api/jobs/1", "/api/jobs/2", "/nothing/at/all", "/api/nothing", "/healthz"):
        await http.get(path)
    await http.request("BREW", "/healthz")
    found = await collect(http)
    requests = {
        labels: value for (name, labels), value in found.items() if name == "kairos_http_requests_total"
    }
    told = {(dict(labels)["method"], dict(labels)["route"], dict(labels)["status"]) for labels in requests}
    assert ("GET", "/api/jobs/{id}", "404") in told
    assert ("GET", "/healthz", "200") in told
    assert not any("nothing" in route or "/1" in route for _, route, _ in told)
    assert {method for method, _, _ in told} <= {"GET", "OTHER"}
    seconds = [name for name, _ in found if name == "kairos_http_request_duration_seconds_count"]
    assert seconds


async def test_many_actions_and_queues_are_told_together_beyond_a_limit(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    world = Rig(app.store)
    await world.enqueue_many(*[{"action": f"a{n}", "queue": f"q{n}"} for n in range(MOST_NAMES + 5)])
    hand = world.worker("w", ["q0"])
    await hand.commit(*map(done, await hand.pick("q0")))
    found = await collect(http)
    actions = {dict(labels)["action"] for name, labels in found if name == "kairos_jobs_accepted_total"}
    queues = {dict(labels)["queue"] for name, labels in found if name == "kairos_jobs"}
    assert len(actions) == len(queues) == MOST_NAMES + 1
    assert of(found, "kairos_jobs_accepted_total", action="other") == 5


async def test_a_name_with_quotes_and_new_lines_does_not_break_the_text(
    app: Kairos, http: httpx2.AsyncClient
) -> None:
    name = 'a"b\\c\nd{}'
    await Rig(app.store).fetch(
        "insert into kairos.gen_durable (fsm, step, queue, eligible_at, inserted_at, updated_at) "
        "values ($1, 'run', $1, now(), now(), now())",
        name,
    )
    found = await collect(http)
    assert of(found, "kairos_jobs_accepted_total", action=name) == 1
    assert of(found, "kairos_jobs", queue=name, state="pending") == 1
