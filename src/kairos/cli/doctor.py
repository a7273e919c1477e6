"""`kairos doctor`: what is wrong, why, and what to do about it; one word when nothing is."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from rich.text import Text

from kairos import documents
from kairos.alarms.checkup import Place as Found
from kairos.alarms.checkup import Problem, check
from kairos.alarms.thresholds import Thresholds
from kairos.app import Kairos
from kairos.cli import tables
from kairos.cli.place import Data, DatabaseUrl, Json, connect
from kairos.config import Settings
from kairos.errors import KairosError
from kairos.store.pool import AsyncStore
from kairos.store.query import Query
from kairos.verbs.alarms import Alarm
from kairos.worker.beat import skew
from kairos.worker.watchman import look_now

UNWELL = 1
_ALL = 2**62  # a person asks: the ledger is counted however long it takes
_PATIENCE = 2.0
_LOOKS = {"error": ("✗", "red"), "warning": ("!", "yellow")}


def doctor(
    ctx: typer.Context, as_json: Json = False, database_url: DatabaseUrl = None, data: Data = None
) -> None:
    """Look for everything that is wrong, now. Exit code 0: nothing; 1: there is; others: no look was possible."""
    problems: list[Problem] = []
    alarms: list[Alarm] = []
    code = 0
    try:
        settings = ctx.obj.or_rather(database_url, data).settings()
        connect(settings)  # refuses where there is no database to look at
        problems, alarms = asyncio.run(examine(settings))
    except KairosError as error:
        problems, code = [_unreachable(error)], error.exit_code
    if as_json:
        tables.document(
            {
                "quiet": not (problems or alarms),
                "problems": [asdict(each) for each in problems],
                "alarms": [documents.alarm(each) for each in alarms],
            }
        )
    else:
        _show(problems, alarms)
    raise typer.Exit(code or (UNWELL if problems or alarms else 0))


async def examine(settings: Settings) -> tuple[list[Problem], list[Alarm]]:
    """Everything that can be found out from here."""
    thresholds = Thresholds.of(settings.alarm_after)
    async with Kairos(settings.database_url, **settings.others) as kairos:
        began = datetime.now(UTC)
        server = (await kairos.store.run(Query("read_server")))[0]
        away = skew(began, datetime.now(UTC), server["clock"])
        pooled = not settings.prepare and settings.direct_url is None
        place = Found(server, await _hears(kairos.store), pooled, away, _knows_zones())
        await look_now(kairos.store, thresholds, count=_ALL, tell=False)
        return check(place, thresholds.after["clock_skewed"]), await kairos.alarms(limit=1000)


async def _hears(store: AsyncStore) -> bool:
    """Whether what is said on one connection is heard on the one that workers would listen on."""
    heard = asyncio.Event()
    connection = await store.connect(store.settings.direct_url)
    try:
        await connection.add_listener("kairos", lambda *_: heard.set())
        await store.run(Query("notify_queues", (["\x01"],)))
        async with asyncio.timeout(_PATIENCE):
            await heard.wait()
    except TimeoutError:
        return False
    finally:
        await connection.close(timeout=_PATIENCE)
    return True


def _knows_zones() -> bool:
    try:
        zone = ZoneInfo("Europe/London")
    except ZoneInfoNotFoundError:
        return False
    return datetime(2026, 7, 1, tzinfo=zone).utcoffset() == timedelta(hours=1)


def _unreachable(error: KairosError) -> Problem:
    """What keeps us from looking; its sentence says what to do."""
    return Problem(error.code, error.message, "Nothing else could be looked at until this is mended.")


def _show(problems: list[Problem], alarms: list[Alarm]) -> None:
    if not problems and not alarms:
        tables.say("Quiet.")
        return
    for problem in problems:
        _tell("error", problem.code, problem.message, problem.remedy)
    for alarm in alarms:
        since = f"{alarm.kind} · since {tables.instant(alarm.first_at)}"
        seen = f" · acknowledged by {alarm.acknowledged_by or 'somebody'}" if alarm.acknowledged_at else ""
        _tell(alarm.severity, f"{since}{seen} · alarm {alarm.id}", alarm.cause, alarm.remedy)


def _tell(severity: str, title: str, cause: Any, remedy: Any) -> None:
    glyph, style = _LOOKS[severity]
    tables.say(Text(f"{glyph} {severity}", style=style), f"  {title}")
    tables.say(f"  {cause}")
    tables.say(f"  → {remedy}\n")
