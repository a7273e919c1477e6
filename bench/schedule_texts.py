"""Measure how long it takes to parse a phrase, to find its next ticks, and to fire many schedules at one instant."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import psycopg

from bench.database import Databases
from bench.drains import kairos_workers
from bench.worker_actions import QUEUE
from kairos.schedule import when

PHRASES = (
    "every 5 minutes",
    "every 90 minutes",
    "every 15 minutes between 9am and 5pm on weekdays",
    "every day at 09:30",
    "every weekday at 9am in London",
    "every monday, wednesday and friday at 17:45 (Europe/Berlin)",
    "every other tuesday at noon",
    "on the 1st and 15th of every month at 6pm",
    "on the last friday of each month at 16:00 in New York",
    "every 3 months on the last day at 23:59",
    "every day at 8am and 8pm",
    "tomorrow at 14:00",
    "in 45 minutes",
    "*/15 9-17 * * 1-5",
    "0 3 * * 0",
    "@daily",
)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
TICKS = 10

SCHEDULE = """
insert into kairos.schedules
  (name, intent, sentence, tz, fsm, fsm_version, step, state, queue, cursor_at, next_tick_at, inserted_at, updated_at)
values (%s, %s, %s, %s, 'noop', 1, 'run', '{"n": 1}', %s, now(), %s, now(), now())
"""


def reading(rounds: int) -> dict[str, float]:
    """Return the CPU µs of parsing a phrase and of its next ten ticks: the medians of rounds with filled caches."""
    now = datetime(2026, 3, 27, 12, tzinfo=UTC)  # a clock change lies ahead
    read, ticks = [], []
    for _ in range(rounds + 1):
        began = time.process_time()
        plans = [when(phrase, now=now) for phrase in PHRASES]
        between = time.process_time()
        for plan in plans:
            plan.ticks(after=now, limit=TICKS)
        ended = time.process_time()
        read.append((between - began) / len(PHRASES) * 1e6)
        ticks.append((ended - between) / len(PHRASES) * 1e6)
    return {"read µs": median(read[1:]), "next ten ticks µs": median(ticks[1:])}


def firing(databases: Databases, schedules: int) -> dict[str, Any]:
    """Measure one worker that fires different schedules in many zones, all due at one instant, and runs their jobs."""
    database = databases.get()
    (worker,) = kairos_workers(database.url, 1)
    due = (datetime.now(UTC) + timedelta(seconds=6 + schedules / 1500)).replace(microsecond=0)
    rows = [
        (f"s{number}", sentence, sentence, "UTC", QUEUE, due)
        for number, sentence in enumerate(_sentences(due, schedules))
    ]
    with psycopg.connect(database.url) as connection, connection.cursor() as cursor:
        cursor.executemany(SCHEDULE, rows)
    database.run("vacuum analyze kairos.schedules")
    if datetime.now(UTC) > due:
        raise RuntimeError("the schedules were not stored before they were due")
    deadline = time.monotonic() + 180
    done = "select count(*), max(completed_at) from kairos.gen_durable where schedule is not null and status = 'done'"
    while (found := database.run(done)[0])[0] < schedules:
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {found[0]} of {schedules} ticks were fired and run")
        time.sleep(0.1)
    fired = database.value("select max(decided_at) from kairos.ticks")
    worker.finish()
    database.clear()
    database.run("truncate kairos.schedules, kairos.ticks")
    seconds = (fired - due).total_seconds()
    return {
        "schedules": schedules,
        "fired after s": seconds,
        "fired a second": schedules / seconds,
        "all run after s": (found[1] - due).total_seconds(),
    }


def _sentences(due: datetime, count: int) -> list[str]:
    """Return sentences that differ in days and zone, all with a tick at `due`."""
    chance = random.Random(7)
    # Zones whose offset is always a whole number of minutes.
    zones = sorted(
        zone for zone in available_timezones() if zone.startswith(("Europe/", "America/", "Asia/"))
    )
    found: dict[str, None] = {}
    while len(found) < count:
        zone = chance.choice(zones)
        local = due.astimezone(ZoneInfo(zone))
        days = {local.weekday(), *chance.sample(range(7), chance.randint(0, 5))}
        names = [DAYS[day] for day in sorted(days)]
        said = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
        found[f"every {said} at {local:%H:%M:%S} ({zone})"] = None
    return list(found)
