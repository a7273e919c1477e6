"""`kairos_bind`: an app that was made when its module was imported runs on the test's database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kairos import Kairos, SyncKairos
from kairos.testing import assert_enqueued, assert_state, drain

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
shop = Kairos(NOWHERE, pool_size=3)
desk = SyncKairos(NOWHERE)
apart = SyncKairos(NOWHERE, schema="apart")

Bind = Callable[[Any], Any]


@shop.job
async def greet(name: str) -> str:
    return f"Hello, {name}!"


@desk.job
def add(a: int, b: int) -> int:
    return a + b


@apart.job
def double(n: int) -> int:
    return 2 * n


@pytest.mark.parametrize("name", ["Ada", "Bo"])  # twice: the second gets a database of its own
async def test_an_async_app_of_a_module_is_bound_to_the_database_of_the_test(
    kairos_bind: Bind, kairos_database: str, name: str
) -> None:
    assert kairos_bind(shop) is shop
    assert (shop.settings.database_url, shop.settings.pool_size) == (kairos_database, 3)
    job = await greet.enqueue(name=name)
    await assert_enqueued(shop, "greet", times=1, name=name)
    assert await drain(shop) == 1
    assert await greet.result(job) == f"Hello, {name}!"
    await assert_state(shop, job.id, "success")
    await shop.close()


def test_afterwards_it_is_what_it_was() -> None:
    assert shop.settings.database_url == desk.settings.database_url == NOWHERE


async def test_an_app_that_the_test_left_open_is_closed(kairos_bind: Bind) -> None:
    kairos_bind(shop)
    await greet.enqueue(name="Cy")


def test_a_sync_app_is_drained_without_await(kairos_bind: Bind) -> None:
    kairos_bind(desk)
    job = add.enqueue(a=1, b=2)
    assert_enqueued(desk, "add", times=1, a=1)
    assert drain(desk) == 1
    assert (desk.result(job.id), add.result(job)) == (3, 3)
    assert_state(desk, job.id, "success")


async def test_a_sync_app_is_drained_inside_an_event_loop_too(kairos_bind: Bind) -> None:
    kairos_bind(desk)
    add.enqueue(a=1, b=2)
    assert drain(desk) == 1


def test_an_app_with_a_schema_of_its_own_finds_it(kairos_bind: Bind) -> None:
    kairos_bind(apart)
    job = double.enqueue(n=2)
    assert drain(apart) == 1
    assert double.result(job) == 4
