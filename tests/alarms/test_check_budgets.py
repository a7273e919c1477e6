"""One check that fails, or takes too long, is itself an alarm, and takes no other alarm with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.worker.world import fetch

from kairos import Kairos
from kairos.alarms.kinds import CHECK_FAILED, KINDS
from kairos.alarms.thresholds import Thresholds
from kairos.operations.alarm_checks import CHECKS, MOST_SUBJECTS, ledger_check
from kairos.operations.alarms import alarms
from kairos.shapes.alarm import Alarm
from kairos.worker import alarm_loop
from kairos.worker.alarm_loop import run_checks, run_checks_if_due

FAILED = "insert into kairos.incidents (kind, subject, at) values ('jobs_failed', 'act', now())"
QUEUES = """
insert into kairos.gen_durable (fsm, fsm_version, step, queue, eligible_at, inserted_at, updated_at)
select 'act', 1, 'run', 'made up ' || n, now() - interval '1 hour', now(), now() from generate_series(1, 20000) n
"""


async def opened(app: Kairos) -> dict[tuple[str, str], Alarm]:
    return {(each.kind, each.subject): each for each in await app.run(alarms(limit=1000))}


def replace(app: Kairos, name: str, text: str) -> Mapping[str, str]:
    """Put another text in place of a statement; answers those from before."""
    before = app.store.sql
    app.store.sql = {**before, name: text}
    return before


def test_every_kind_that_lasts_is_found_by_one_check() -> None:
    found = [kind for check in (*CHECKS, ledger_check(1)) for kind in check.kinds]
    assert sorted(found) == sorted(
        kind.name for kind in KINDS.values() if not kind.happens and kind.name != CHECK_FAILED
    )


async def test_twenty_thousand_queue_names_switch_no_alarm_off(app: Kairos) -> None:
    await fetch(app, QUEUES)
    await fetch(app, FAILED)
    await run_checks_if_due(app.store, Thresholds())
    found = await opened(app)
    assert ("jobs_failed", "act") in found
    assert ("queue_unserved", "(other queues)") in found
    assert found["queue_unserved", "(other queues)"].count == 20_000 - MOST_SUBJECTS
    assert len([kind for kind, _ in found if kind == "queue_unserved"]) == MOST_SUBJECTS + 1
    assert not [subject for kind, subject in found if kind == CHECK_FAILED]


async def test_a_queue_that_is_set_up_is_named_however_many_others_there_are(app: Kairos) -> None:
    await fetch(app, QUEUES)
    await fetch(app, "insert into kairos.queues (name) values ('billing') on conflict do nothing")
    await fetch(
        app,
        "insert into kairos.gen_durable (fsm, fsm_version, step, queue, eligible_at, inserted_at, updated_at) "
        "values ('act', 1, 'run', 'billing', now() - interval '2 minutes', now(), now())",
    )
    await run_checks(app.store, Thresholds())
    assert ("queue_unserved", "billing") in await opened(app)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("select pg_sleep(600), $1::interval, $2::text, $3::text", "statement timeout"),
        ("select 1 / (random() * 0)::int, $1::interval, $2::text, $3::text", "division by zero"),
    ],
    ids=["too slow", "broken"],
)
async def test_a_check_that_does_not_get_through_is_an_alarm_until_it_does(
    app: Kairos, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    monkeypatch.setattr(alarm_loop, "BUDGET", 3.0)
    await fetch(app, FAILED)
    before: Any = replace(app, "find_long_waits", text)
    await run_checks_if_due(app.store, Thresholds())
    found = await opened(app)
    assert says in found[CHECK_FAILED, "find_long_waits"].cause
    assert ("jobs_failed", "act") in found
    app.store.sql = before
    await run_checks(app.store, Thresholds())
    assert (CHECK_FAILED, "find_long_waits") not in await opened(app)


async def test_a_check_that_does_not_get_through_clears_nothing(app: Kairos) -> None:
    await fetch(
        app,
        "insert into kairos.alarms (kind, subject, severity, cause, remedy, count, first_at, last_at) "
        "values ('jobs_waiting', 'act', 'warning', 'c', 'r', 1, now(), now())",
    )
    before: Any = replace(
        app, "find_long_waits", "select 1 / (random() * 0)::int, $1::interval, $2::text, $3::text"
    )
    await run_checks(app.store, Thresholds())
    assert ("jobs_waiting", "act") in await opened(app)
    app.store.sql = before
    await run_checks(app.store, Thresholds())
    assert ("jobs_waiting", "act") not in await opened(app)
