"""Two versions of a program at once, as in a rolling deploy."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.terminal import TIMEOUT, Process

from kairos import Job, Kairos, SyncKairos
from kairos.testing import drain

OLD = """
from kairos import Kairos

app = Kairos()

@app.job
async def send(user_id: int, template: str = "plain") -> list:
    return ["old", user_id, template]
"""
NEW = """
from kairos import Kairos

app = Kairos()

@app.job
async def send(user_id: int, template: str = "rich", language: str = "en") -> list:
    return ["new", user_id, template, language]
"""


def declare(app: SyncKairos, *, new: bool) -> object:
    def send(user_id: int, template: str = "plain") -> None: ...
    def send_new(user_id: int, template: str = "rich", language: str = "en") -> None: ...

    return app.job(name="send")(send_new if new else send)


def wait(client: SyncKairos, job: Job, said: Callable[[Job], bool]) -> Job:
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        if said(read := client.get(job.id)):
            return read
        time.sleep(0.05)
    raise AssertionError(client.get(job.id))


def test_an_old_worker_leaves_a_new_argument_to_the_new_one_and_a_new_worker_runs_old_jobs(
    home: Path, start: Callable[..., Process], client: SyncKairos, database: str
) -> None:
    (home / "old.py").write_text(OLD)
    (home / "new.py").write_text(NEW)
    new = declare(client, new=True)
    old_worker = start("worker", "old.py", KAIROS_DATABASE_URL=database)
    old_worker.says("worker started")
    plain = new.enqueue(user_id=1)  # type: ignore[attr-defined]
    assert client.result(plain.id, timeout=TIMEOUT) == [
        "old",
        1,
        "plain",
    ]  # no default of newer code is stored
    job = new.enqueue(user_id=2, language="fr")  # type: ignore[attr-defined]

    def released(_: Job) -> bool:
        return any(row.verb == "release" for row in client.history(job.id))

    wait(client, job, released)
    (row, *_) = client.history(job.id)
    assert row.reason == "this worker's code does not know the argument 'language' of send@1"
    start("worker", "new.py", KAIROS_DATABASE_URL=database).says("worker started")
    assert client.result(job.id, timeout=TIMEOUT) == ["new", 2, "rich", "fr"]
    assert client.get(job.id).attempt == 0


def test_an_old_worker_hands_one_job_back_and_then_leaves_those_with_a_new_argument_alone(
    home: Path, start: Callable[..., Process], client: SyncKairos, database: str
) -> None:
    (home / "old.py").write_text(OLD)
    (home / "new.py").write_text(NEW)
    new = declare(client, new=True)
    start("worker", "old.py", KAIROS_DATABASE_URL=database).says("worker started")
    first = new.enqueue(user_id=1, language="fr")  # type: ignore[attr-defined]
    wait(client, first, lambda _: bool(client.history(first.id)))
    others = [new.enqueue(user_id=n, language="fr") for n in (2, 3)]  # type: ignore[attr-defined]
    for n in (4, 5):  # each takes another pick
        assert client.result(new.enqueue(user_id=n).id, timeout=TIMEOUT) == ["old", n, "plain"]  # type: ignore[attr-defined]
    left = [client.get(job.id) for job in (first, *others)]
    assert [job.state for job in left] == ["pending"] * 3, "due at once, for a worker that knows it"
    assert [[row.verb for row in client.history(job.id)] for job in left] == [["release"], [], []]
    start("worker", "new.py", KAIROS_DATABASE_URL=database).says("worker started")
    for job in left:
        assert client.result(job.id, timeout=TIMEOUT)[0] == "new"


@pytest.mark.parametrize("knows", [False, True])
async def test_an_argument_that_no_live_worker_knows_is_an_alarm(database: str, knows: bool) -> None:
    from tests.worker.world import until

    with SyncKairos(database) as caller:
        new = declare(caller, new=True)
        job = new.options(queue="other").enqueue(user_id=2, language="fr")  # type: ignore[attr-defined]
    old, newer = Kairos(database), Kairos(database)
    declare(old, new=False)  # type: ignore[arg-type]
    declare(newer, new=knows)  # type: ignore[arg-type]
    async with old, newer, old.worker(queues=["other"], poll=0.1) as worker, newer.worker(queues=["default"]):

        async def handed_back() -> bool:
            return bool(await old.history(job.id))

        await until(handed_back)
        worker.heartbeat.wake()

        async def told() -> bool:
            rows = await old.workers()
            async with old.store.connection() as connection:
                return len(rows) == 2 and await connection.fetchval(
                    "select exists (select from kairos.workers where unknown = '{send@1(language)}')"
                )

        await until(told)
        async with old.store.connection() as connection:
            found = await connection.fetch(
                "select name from (select unnest(unknown) as name from kairos.workers) u"
                " where not exists (select from kairos.workers w where u.name = any (w.machines))"
            )
        assert [row["name"] for row in found] == ([] if knows else ["send@1(language)"])


async def test_only_what_the_caller_gave_is_stored(database: str) -> None:
    app = Kairos(database)

    @app.job
    async def send(user_id: int, template: str = "plain", tags: list[str] = []) -> list[object]:  # noqa: B006
        return [user_id, template, tags]

    async with app:
        bare = await send.enqueue(1)
        full = await send.enqueue(1, template="plain", tags=[])
        assert (bare.input, full.input) == (
            {"user_id": 1},
            {"user_id": 1, "template": "plain", "tags": []},
        )
        await drain(app)
        assert await app.result(bare.id) == await app.result(full.id) == [1, "plain", []]
