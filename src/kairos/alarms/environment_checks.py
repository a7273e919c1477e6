"""Find problems of the Postgres server and its settings, from facts that were collected before. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

OLDEST_POSTGRES = 150000
# A listener that never reads fills the notification queue; when it is full, commits fail.
MOST_NOTIFICATIONS = 0.1
MOST_CONNECTIONS = 0.9


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of the database or its settings, and what to do about it."""

    code: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Environment:
    """The facts to check: the settings of the server, and what the caller found out by trying."""

    server: Mapping[str, Any]
    receives_notifications: bool
    behind_pooler: bool  # by the setting `prepare`, and without a direct URL
    skew: timedelta
    has_time_zones: bool


def check(environment: Environment, most_skew: timedelta) -> list[Problem]:
    """Return every problem, those that lose data first."""
    found = [Problem(code, message, remedy) for code, is_so, message, remedy in _CHECKS if is_so(environment)]
    return [*found, _skewed(environment.skew)] if abs(environment.skew) >= most_skew else found


def _skewed(skew: timedelta) -> Problem:
    return Problem(
        "CLOCK",
        f"The clock of this machine is {skew.total_seconds():+.1f} s from the database's.",
        "Run an NTP client on both.",
    )


# The code of each problem, whether there is one, its message and its remedy.
_CHECKS: tuple[tuple[str, Callable[[Environment], bool], str, str], ...] = (
    (
        "FSYNC_OFF",
        lambda found: not found.server["fsync"],
        "Postgres runs with fsync off: a crash of its machine may lose or destroy everything.",
        "Set fsync = on and restart Postgres.",
    ),
    (
        "FULL_PAGE_WRITES_OFF",
        lambda found: not found.server["full_page_writes"],
        "Postgres runs with full_page_writes off: a crash of its machine may leave torn pages.",
        "Set full_page_writes = on.",
    ),
    (
        "SYNCHRONOUS_COMMIT_OFF",
        lambda found: found.server["synchronous_commit"] == "off",
        "synchronous_commit is off: a crash of Postgres may lose jobs that were enqueued on your own connections, "
        "or through a pooler, a moment before.",
        "Set synchronous_commit = on for the server, the database or the user that Kairos connects as.",
    ),
    (
        "STANDBY_ASYNCHRONOUS",
        lambda found: found.server["followed_asynchronously"],
        "A standby follows Postgres, and commits do not wait for it: a failover to it loses the last jobs.",
        "Name it in synchronous_standby_names, and set KAIROS_REQUIRE_STANDBY=true; else expect that loss.",
    ),
    (
        "CLOCK_REPLACED",
        lambda found: found.server["clock_replaced"],
        "The clock of this database was replaced by kairos.testing.Clock: delays, retries, leases and schedules "
        "follow it, not the real time.",
        "Put the real clock back with `await Clock(app).uninstall()`, unless this database is for tests.",
    ),
    (
        "POSTGRES_TOO_OLD",
        lambda found: found.server["version"] < OLDEST_POSTGRES,
        "Postgres is older than 15.",
        "Upgrade it to 15 or later.",
    ),
    (
        "AUTOVACUUM_OFF",
        lambda found: not (found.server["autovacuum"] and found.server["track_counts"]),
        "Autovacuum is off: dead rows pile up, and every pick walks over them.",
        "Set autovacuum = on and track_counts = on.",
    ),
    (
        "LISTEN_POOLED",
        lambda found: not found.receives_notifications and found.behind_pooler,
        "LISTEN hears nothing here: prepare is off, as behind a pooler, and there is no direct_url.",
        "Set KAIROS_DIRECT_URL to Postgres itself; until then workers find jobs by polling.",
    ),
    (
        "LISTEN_DEAF",
        lambda found: not found.receives_notifications and not found.behind_pooler,
        "LISTEN hears nothing here: a pooler in transaction mode, or a direct_url that leads elsewhere.",
        "Behind a pooler set KAIROS_PREPARE=false and KAIROS_DIRECT_URL to Postgres itself.",
    ),
    (
        "NOTIFICATIONS_FULL",
        lambda found: found.server["notifications"] > MOST_NOTIFICATIONS,
        "Postgres' queue of notifications fills up: a session that LISTENs stays inside a transaction.",
        "Find it in pg_stat_activity and end it; once the queue is full, commits fail.",
    ),
    (
        "CONNECTIONS_SPENT",
        lambda found: found.server["connections"] >= found.server["max_connections"] * MOST_CONNECTIONS,
        "Nearly all of Postgres' connections are taken.",
        "Raise max_connections, lower pool_size, or put a pooler in between.",
    ),
    (
        "NO_TIME_ZONES",
        lambda found: not found.has_time_zones,
        "This machine has no usable database of time zones: schedules would fire at the wrong time.",
        "Install the tzdata package.",
    ),
)
