"""`kairos doctor`: list every problem with its cause and remedy; print one word if there is none."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from rich.text import Text

from kairos import shapes
from kairos.alarms.environment_checks import Environment, Problem, check
from kairos.alarms.thresholds import Thresholds
from kairos.app import Kairos
from kairos.cli import output
from kairos.cli.database_option import DatabaseChoice, Json, connect, with_database
from kairos.config import Settings
from kairos.errors import KairosError
from kairos.shapes.alarm import Alarm
from kairos.store.async_store import AsyncStore
from kairos.store.query import Query
from kairos.worker.alarm_loop import run_checks
from kairos.worker.heartbeat import skew

PROBLEMS_FOUND = 1
_ALL = 2**62  # on request the job ledger is counted in full, however long it takes
_TIMEOUT = 2.0
_SEVERITY_STYLES = {"error": ("✗", "red"), "warning": ("!", "yellow")}


@with_database
def doctor(database: DatabaseChoice, as_json: Json = False) -> None:
    """Look for problems now. Exit code 0: none; 1: some; others: the check could not run."""
    problems: list[Problem] = []
    alarms: list[Alarm] = []
    code = 0
    try:
        settings = database.settings()
        connect(settings)  # raises if there is no database
        problems, alarms = asyncio.run(examine(settings))
    except KairosError as error:
        problems, code = [_unreachable(error)], error.exit_code
    if as_json:
        output.document(
            {
                "quiet": not (problems or alarms),
                "problems": [asdict(each) for each in problems],
                "alarms": [shapes.document(each) for each in alarms],
            }
        )
    else:
        _show(problems, alarms)
    raise typer.Exit(code or (PROBLEMS_FOUND if problems or alarms else 0))


async def examine(settings: Settings) -> tuple[list[Problem], list[Alarm]]:
    """Run every check and the alarm checks; return the problems and the open alarms."""
    thresholds = Thresholds.of(settings.alarm_after)
    async with Kairos(settings.database_url, **settings.others) as kairos:
        began = datetime.now(UTC)
        server = dict((await kairos.store.run(Query("read_server_settings")))[0])
        away = skew(began, datetime.now(UTC), server["clock"])
        server["synchronous_commit"] = await kairos.store.inherited("synchronous_commit")
        # The checks below write: on this server they would wait or be refused.
        await kairos.store.check_commits()
        await kairos.store.check_space()
        behind_pooler = not settings.prepare and settings.direct_url is None
        environment = Environment(
            server, await _receives_notifications(kairos.store), behind_pooler, away, _has_time_zones()
        )
        await run_checks(kairos.store, thresholds, count=_ALL, report=False)
        return check(environment, thresholds.after["clock_skewed"]), await kairos.alarms(limit=1000)


async def _receives_notifications(store: AsyncStore) -> bool:
    """Whether a NOTIFY on one connection reaches a LISTEN on the connection that workers would use."""
    received = asyncio.Event()
    connection = await store.connect(store.settings.direct_url)
    try:
        await connection.add_listener("kairos", lambda *_: received.set())
        await store.run(Query("notify_queues", (["\x01"],)))
        async with asyncio.timeout(_TIMEOUT):
            await received.wait()
    except TimeoutError:
        return False
    finally:
        await connection.close(timeout=_TIMEOUT)
    return True


def _has_time_zones() -> bool:
    try:
        zone = ZoneInfo("Europe/London")
    except ZoneInfoNotFoundError:
        return False
    return datetime(2026, 7, 1, tzinfo=zone).utcoffset() == timedelta(hours=1)


def _unreachable(error: KairosError) -> Problem:
    """Return the reason why the check could not run as a problem."""
    return Problem(error.code, error.message, "Nothing else could be examined until this is fixed.")


def _show(problems: list[Problem], alarms: list[Alarm]) -> None:
    if not problems and not alarms:
        output.say("Quiet.")
        return
    for problem in problems:
        _print_finding("error", problem.code, problem.message, problem.remedy)
    for alarm in alarms:
        since = f"{alarm.kind} · since {output.instant(alarm.first_at)}"
        seen = f" · acknowledged by {alarm.acknowledged_by or 'somebody'}" if alarm.acknowledged_at else ""
        _print_finding(alarm.severity, f"{since}{seen} · alarm {alarm.id}", alarm.cause, alarm.remedy)


def _print_finding(severity: str, title: str, cause: Any, remedy: Any) -> None:
    glyph, style = _SEVERITY_STYLES[severity]
    output.say(Text(f"{glyph} {severity}", style=style), f"  {title}")
    output.say(f"  {cause}")
    output.say(f"  → {remedy}\n")
