"""A chain runs one job after the other and hands each result on."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from tests.worker.world import ended, fetch

from kairos import Kairos, SyncKairos, step
from kairos.errors import BadArguments, BadDefinition, BadValue, JobFailed
from kairos.serializers import job as document
from kairos.testing import drain


@pytest.fixture
def actions(app: Kairos) -> Any:
    class Actions:
        @staticmethod
        @app.job(queue="images")
        async def load(url: str) -> str:
            if "bad" in url:
                raise ValueError("no such page")
            return f"bytes of {url}"

        @staticmethod
        @app.job
        async def resize(image: str, width: int, on: date | None = None) -> dict[str, Any]:
            return {"image": image, "width": width, "on": str(on)}

        @staticmethod
        @app.job
        async def store(token: str, thumbnail: dict[str, Any]) -> dict[str, Any]:
            return {**thumbnail, "stored": len(token)}

        @staticmethod
        @app.job
        async def notify() -> str:
            return "told"

    return Actions


async def test_each_result_is_the_first_argument_of_the_next_that_is_not_given(
    app: Kairos, actions: Any
) -> None:
    chain = actions.load.then(actions.resize, width=100, on=date(2026, 1, 2)).then(actions.store, token="t")
    async with app, app.worker(poll=0.1):
        job = await chain.enqueue(url="a")
        output = await chain.result(job, timeout=60)
        assert output == {"image": "bytes of a", "width": 100, "on": "2026-01-02", "stored": 1}
        links = await fetch(
            app, "select fsm, queue from kairos.gen_durable where reply_to = $1 order by id", job.id
        )
        assert [tuple(row) for row in links] == [
            ("load", "images"),
            ("resize", "default"),
            ("store", "default"),
        ]


async def test_a_job_without_arguments_gets_no_result(app: Kairos, actions: Any) -> None:
    async with app, app.worker(poll=0.1):
        job = await actions.load.then(actions.notify).enqueue("a")
        assert await app.result(job.id, timeout=60) == "told"


async def test_a_link_that_fails_ends_the_chain_and_is_named(app: Kairos, actions: Any) -> None:
    async with app, app.worker(poll=0.1):
        job = await actions.load.then(actions.resize, width=1).enqueue("bad")
        with pytest.raises(JobFailed, match=r"load \(job \d+\) is failed: ValueError: no such page"):
            await app.result(job.id, timeout=60)
        assert await fetch(app, "select from kairos.gen_durable where fsm = 'resize'") == []


async def test_a_result_that_does_not_fit_the_next_ends_the_chain_by_name(app: Kairos, actions: Any) -> None:
    async with app, app.worker(poll=0.1):
        job = await actions.load.then(actions.store, token="t").enqueue("a")
        with pytest.raises(JobFailed, match=r"(?s)store \(job \d+\) is failed: .*thumbnail"):
            await app.result(job.id, timeout=60)


async def test_a_cancelled_chain_begins_no_further_link(app: Kairos, actions: Any) -> None:
    async with app:
        job = await actions.load.then(actions.notify).enqueue("a")
        await app.cancel(job.id)
        await drain(app)
        assert (await ended(app, job.id)).state == "cancelled"
        assert await fetch(app, "select from kairos.gen_durable where fsm = 'notify'") == []


async def test_options_belong_to_the_link_or_to_the_chain(app: Kairos, actions: Any) -> None:
    chain = actions.load.options(priority=-1).then(actions.notify.options(queue="other", tags=["x"]))
    async with app:
        job = await chain.options(unique="one", tags=["nightly"]).enqueue("a")
        assert (job.queue, job.tags, job.unique) == ("images", ("nightly",), "one")
        await drain(app)
        links = await fetch(
            app,
            "select queue, priority, tags from kairos.gen_durable where reply_to = $1 order by id",
            job.id,
        )
        assert [tuple(row) for row in links] == [("images", -1, []), ("other", 0, ["x"])]
        assert await app.result(job.id) == "told"


async def test_redacted_arguments_of_the_links_are_not_shown_with_the_chain(
    app: Kairos, actions: Any
) -> None:
    @app.job(redact=["token"])
    async def keep(image: str, token: str) -> None: ...

    async with app:
        job = await actions.load.then(keep, token="tok_1").enqueue("a")
        assert "tok_1" not in str(document(await app.get(job.id)))
        assert "tok_1" in str((await app.get(job.id)).input)


def test_a_sync_app_has_chains_too(database: str) -> None:
    with SyncKairos(database) as app:

        @app.job
        def one(n: int) -> int:
            return n + 1

        chain = one.then(one).then(one)
        job = chain.enqueue(1)
        drain(app)
        assert chain.result(job) == 4


def test_what_could_never_run_is_refused_where_it_is_written(app: Kairos, actions: Any) -> None:
    @app.machine("order")
    class Order:
        @step
        async def go(self, ctx: Any) -> Any: ...

    @app.job(key=lambda n: str(n))
    async def keyed(n: int) -> None: ...

    with pytest.raises(BadArguments, match="resize takes no argument 'hight'"):
        actions.load.then(actions.resize, hight=1)
    with pytest.raises(BadArguments, match=r"resize: argument 'width': .*integer"):
        actions.load.then(actions.resize, width="wide")
    with pytest.raises(BadArguments, match="resize: argument 'width' is missing"):
        actions.load.then(actions.resize)
    with pytest.raises(
        BadDefinition, match="A chain leads from function to function, and 'order' is a machine"
    ):
        actions.load.then(Order)
    with pytest.raises(BadDefinition, match="then takes an action, such as resize, not 'resize'"):
        actions.load.then("resize")
    with pytest.raises(BadDefinition, match="The key of 'keyed' is computed from its arguments"):
        actions.load.then(keyed)
    with pytest.raises(BadDefinition, match="'notify' has a unique key, and a link of a chain cannot"):
        actions.load.then(actions.notify.options(unique="a"))


async def test_what_a_link_is_given_ahead_must_survive_json_as_other_arguments_do(app: Kairos) -> None:
    @app.job
    async def first() -> int:
        return 1

    @app.job
    async def untyped(n: int, at=None) -> None:  # type: ignore[no-untyped-def]
        ...

    @app.job
    async def typed(n: int, at: datetime | None = None, pair: tuple[int, int] = (0, 0)) -> None: ...

    at = datetime(2030, 1, 2, tzinfo=UTC)
    assert first.then(typed, at=at, pair=(1, 2)).call()
    with pytest.raises(
        BadArguments, match=r"^untyped: argument 'at' has the type datetime, which JSON would turn"
    ):
        first.then(untyped, at=at)
    with pytest.raises(BadArguments, match=r"argument 'at\.x\[0\]' has the type tuple"):
        first.then(untyped, at={"x": [(1,)]})
    with pytest.raises(BadValue, match="argument 'at' has the type object, which JSON cannot hold"):
        first.then(untyped, at=object())
