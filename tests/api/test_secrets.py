"""Secrets go in everywhere they may; then everything that anybody can see is searched for them.

A place that can be seen is one function under `@place`. What a step writes into its own exception, log line or
output is the step's to say, and is not among the secrets here.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx2
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.api.service_process import Served, serving

from kairos import Backoff, Context, Kairos, KairosClient
from kairos.operations.keys import add_key

ARGUMENT = "canary-argument-51f0"
NESTED = "canary-nested-51f1"
PASSWORD = "canary-password-51f2"
WRONG_KEY = "canary-wrong-key-51f3"
ENVIRONMENT = "canary-environment-51f4"
QUERY = "canary-query-51f5"
BODY = "canary-body-51f6"
HEADER = "canary-header-51f7"

Place = Callable[["World"], Awaitable[str]]
PLACES: dict[str, Place] = {}


def place(look: Place) -> Place:
    PLACES[look.__name__.replace("_", " ")] = look
    return look


@dataclass
class World:
    """A service with a past."""

    url: str
    served: Served
    admin: httpx2.AsyncClient
    jobs: list[int]
    secrets: dict[str, str]
    said: io.StringIO
    spans: InMemorySpanExporter
    answers: list[str] = field(default_factory=list)

    async def get(self, path: str) -> str:
        answer = await self.admin.get(path)
        assert answer.status_code == 200, (path, answer.text)
        return answer.text + str(answer.headers)

    async def commands(self, *commands: str, url: str | None = None) -> str:
        """Commands in a process of their own, which knows the URL with its password and none of the code."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "import sys; from kairos.cli import run; [run(each.split()) for each in sys.argv[1:]]",
            *commands,
            env={**os.environ, "KAIROS_DATABASE_URL": url or self.url},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd="/",
        )
        said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()
        return said.decode()


@place
async def the_answers_to_those_who_asked(world: World) -> str:
    return "\n".join(world.answers)


@place
async def jobs_and_their_history_logs_and_signals(world: World) -> str:
    found = [await world.get("/api/jobs?limit=100")]
    for job in world.jobs:
        found += [await world.get(f"/api/jobs/{job}{part}") for part in ("", "/history", "/logs", "/signals")]
    return "\n".join(found)


@place
async def streams(world: World) -> str:
    return "\n".join([await world.get(f"/api/jobs/{job}/events") for job in world.jobs])


@place
async def lists_of_everything_else(world: World) -> str:
    nouns = "machines queues workers schedules alarms?all=true keys audit webhooks stats stats/series lifecycle version"
    return "\n".join([await world.get(f"/api/{noun}") for noun in nouns.split()])


@place
async def metrics(world: World) -> str:
    return await world.get("/metrics")


@place
async def the_description_of_the_service(world: World) -> str:
    return await world.get("/openapi.json")


@place
async def what_the_service_and_the_worker_said(world: World) -> str:
    return world.said.getvalue()


@place
async def traces(world: World) -> str:
    return "\n".join(span.to_json() for span in world.spans.get_finished_spans())


@place
async def commands(world: World) -> str:
    about = [
        f"jobs {verb} {job}{way}"
        for job in world.jobs
        for verb, way in (("show", ""), ("show", " --json"), ("logs", ""))
    ]
    others = (
        "jobs ls",
        "doctor",
        "doctor --json",
        "keys ls",
        "machines --json",
        "schedules ls --json",
        "queues ls",
    )
    return await world.commands(*about, *others)


@place
async def a_command_that_cannot_connect(world: World) -> str:
    return await world.commands("doctor", "jobs ls", url=f"postgresql://nobody:{PASSWORD}@127.0.0.1:1/none")


@place
async def the_command_lines_of_processes(world: World) -> str:
    lines = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                lines.append((each / "cmdline").read_text(errors="replace"))
            except OSError:
                continue
    return "\n".join(lines)


@place
async def the_tables_except_what_a_step_or_a_signature_needs(world: World) -> str:
    """The input of a job, of a schedule and the secret of a webhook are kept: somebody must have them."""
    needed = {"gen_durable": ("state", "input"), "schedules": ("state",), "webhooks": ("secret",)}
    connection = await asyncpg.connect(world.url)
    try:
        names = await connection.fetch("select tablename from pg_tables where schemaname = 'kairos'")
        found = []
        for (name,) in names:
            for row in await connection.fetch(f"select to_jsonb(t)::text as row from kairos.{name} t"):
                document = json.loads(row["row"])
                for column in needed.get(name, ()):
                    document.pop(column, None)
                found.append(f"{name} {json.dumps(document)}")
        found += [row["query"] for row in await connection.fetch("select query from pg_stat_activity")]
        return "\n".join(found)
    finally:
        await connection.close()


@pytest.fixture
async def world(kairos_database: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setenv("UNRELATED", ENVIRONMENT)
    said, spans, provider = io.StringIO(), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    handler = logging.StreamHandler(said)
    logging.getLogger("kairos").addHandler(handler)
    monkeypatch.setattr(logging.getLogger("kairos"), "level", logging.DEBUG)
    parts = urlsplit(kairos_database)
    url = parts._replace(netloc=f"{parts.username}:{PASSWORD}@{parts.netloc.rpartition('@')[2]}").geturl()
    app = Kairos(url, name="canary")

    @app.job(redact=["token", "account"], retry=Backoff(attempts=2, base=0))
    async def login(ctx: Context, token: str, account: dict[str, str], fails: bool = False) -> str:
        assert (token, account) == (ARGUMENT, {"password": NESTED})
        ctx.log.info("signing in", token=token, account=account)
        if fails:
            raise ValueError("refused")
        return "in"

    try:
        async with app:
            _, admin = await app.run(add_key("admin", ["admin"]))
            async with serving(app, open=False) as served, served.as_key(admin) as http:
                yield await _past(World(url, served, http, [], {}, said, spans), app, admin)
    finally:
        logging.getLogger("kairos").removeHandler(handler)
        provider.shutdown()


async def _past(world: World, app: Kairos, admin: str) -> World:
    """Jobs that succeed and fail, over HTTP and from Python, a schedule, a webhook, a key, and refused requests."""
    http, keep = world.admin, world.answers.append
    given = {"token": ARGUMENT, "account": {"password": NESTED}}
    async with app.worker(poll=0.1, retention="1h"):
        for fails in (False, True):
            wanted = {"action": "login", "input": {**given, "fails": fails}}
            answer = await http.post("/api/jobs", json=wanted, headers={"Idempotency-Key": f"key-{fails}"})
            assert answer.status_code == 202, answer.text
            keep(answer.text)
            keep(
                (await http.post("/api/jobs", json=wanted, headers={"Idempotency-Key": f"key-{fails}"})).text
            )
            world.jobs.append(answer.json()["job"]["id"])
        world.jobs.append((await app.action("login").enqueue(**given)).id)
        async with KairosClient(world.served.url, admin) as client:
            world.jobs.append((await client.enqueue("login", **given)).id)
        for job in world.jobs:
            keep((await http.get(f"/api/jobs/{job}/wait?timeout=30")).text)
    schedule = {"name": "nightly", "when": "every day at 3am", "action": "login", "input": given}
    keep((await http.post("/api/schedules", json=schedule)).text)
    hook = await http.post("/api/webhooks", json={"url": f"https://example.com/hook/{QUERY}?token={QUERY}"})
    world.secrets["webhook"] = hook.json()["webhook"]["secret"]
    made = await http.post("/api/keys", json={"name": "made", "scopes": ["read"]})
    world.secrets["made key"] = _secret_of(made.json()["key"]["secret"])
    world.secrets["admin key"] = _secret_of(admin)
    keep((await http.get(f"/api/jobs?text={QUERY}&nonsense={QUERY}")).text)
    keep((await http.post("/api/jobs", json={"action": "login", "input": {"token": {"x": BODY}}})).text)
    keep(
        (
            await http.post(
                "/api/jobs", content=f'{{"{BODY}'.encode(), headers={"Content-Type": "application/json"}
            )
        ).text
    )
    wrong = {
        "Authorization": f"Bearer kr_abcdef_{WRONG_KEY}",
        "Cookie": f"kairos_session={HEADER}",
        "X-Other": HEADER,
    }
    keep((await world.served.http.get("/api/jobs", headers=wrong)).text)
    keep((await world.served.http.post("/api/session", json={"key": f"kr_abcdef_{WRONG_KEY}"})).text)
    return world


async def test_no_secret_is_shown_anywhere(world: World) -> None:
    secrets = {
        "argument": ARGUMENT, "nested argument": NESTED, "database password": PASSWORD, "wrong key": WRONG_KEY,
        "environment": ENVIRONMENT, "body": BODY, "header": HEADER, **world.secrets,
    }  # fmt: skip
    leaks, shown = [], {}
    for name, look in PLACES.items():
        seen = shown[name] = await look(world)
        leaks += [
            f"{what} in {name}: {_around(seen, secret)}" for what, secret in secrets.items() if secret in seen
        ]
        if name != "lists of everything else" and not name.startswith("the tables") and QUERY in seen:
            # The URL of a webhook is shown to admins.
            leaks.append(f"query in {name}: {_around(seen, QUERY)}")
    assert not leaks, "\n".join(leaks)
    # The search would find them: they reached the step, and every place did show what it shows.
    assert "[redacted]" in shown["jobs and their history logs and signals"]
    assert shown["commands"].count("[redacted]") >= 2 * len(world.jobs)
    assert "login run" in shown["traces"] and "POST /api/jobs" in shown["traces"]
    assert "/api/jobs/{id}/wait" in shown["what the service and the worker said"]
    assert all(shown.values())
    connection = await asyncpg.connect(world.url)
    stored = await connection.fetchval(
        "select state::text from kairos.gen_durable where id = $1", world.jobs[0]
    )
    await connection.close()
    assert ARGUMENT in stored and NESTED in stored


def _secret_of(key: str) -> str:
    """What follows the prefix and the id in a key; it may hold underscores of its own."""
    return key.split("_", 2)[2]


def _around(text: str, secret: str) -> str:
    at = text.index(secret)
    return "…" + text[max(0, at - 150) : at + len(secret) + 20].replace("\n", "⏎")
