"""The settings that Kairos sets on each connection, so that none is inherited from a role or a database.

The deadlines are derived from the lease: a frozen worker, a hung server or a lost network must not block the others
for much longer than a lease.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from kairos import defaults
from kairos.durations import duration

# Seconds; for connections without a worker.
DEFAULT_LEASE = duration(defaults.LEASE, "lease").total_seconds()
# Seconds that a client waits for the answer to a statement that may touch many rows.
STATEMENT_TIMEOUT = 60.0

# Leases outside these bounds do not change the deadlines further: a busy machine would miss shorter ones, and a lost
# connection must be noticed within seconds even if the lease is an hour.
_SHORTEST, _LONGEST = 5.0, DEFAULT_LEASE
# A step may call other services inside its transaction. So it may wait `_STEP_FACTOR` times as long for a lock as
# Kairos, and keep the transaction open for `STEP_OPEN_AT_MOST` seconds. When its lease is lost, the reaper ends its
# session.
_STEP_FACTOR = 6
STEP_OPEN_AT_MOST = 600.0


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The timeouts in seconds of each kind of wait."""

    lease: float = DEFAULT_LEASE

    @property
    def connect(self) -> float:
        """To open a connection to one host."""
        return self._base * 0.4

    @property
    def statement(self) -> float:
        """For the answer to one statement of a worker's own loops."""
        return self._base * 0.6

    @property
    def renewal(self) -> float:
        """For the answer to one statement of a keeper, which must renew before the lease expires."""
        return self._base * 0.25

    @property
    def lock(self) -> float:
        """For a lock; less than `statement`, so that the server gives up before its client does."""
        return self._base * 0.5

    @property
    def idle_in_transaction(self) -> float:
        """Between two statements of one transaction of Kairos itself."""
        return self._base * 0.5

    @property
    def network(self) -> float:
        """For the peer to acknowledge what was sent, or a keepalive probe."""
        return self._base * 0.5

    @property
    def _base(self) -> float:
        return min(max(self.lease, _SHORTEST), _LONGEST)


# Settings that the correctness of statements depends on, on every connection.
_CORRECT = {
    "default_transaction_isolation": "read committed",
    "default_transaction_deferrable": "off",
    # An accepted job is on disk, and on the standby if there is a synchronous one.
    "synchronous_commit": "on",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "exit_on_error": "off",
    "idle_session_timeout": "0",
}
# Settings for connections that run nothing but Kairos's own statements.
_OWN = {
    "search_path": "public",  # pg_catalog comes first unless it is named; Kairos's own names carry their schema
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "row_security": "on",
}
# All statements are meant to use an index, with one plan for all parameters: planning a pick for each limit costs more
# than the pick, and a plan made while the table was small would scan it when it is large.
PLAN_SETTINGS = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}

# Steps and migrations may take longer than an administrator lets transactions take. Only Postgres since version 17 has
# this setting, and an older server refuses a connection that names it, so it is set once the version is known.
NO_TRANSACTION_TIMEOUT = "set transaction_timeout = 0"
HAS_TRANSACTION_TIMEOUT = 17


def own_settings(deadlines: Deadlines, application: str = "kairos") -> dict[str, str]:
    """Return the settings of connections for Kairos's own statements."""
    return {
        "application_name": application,
        **_CORRECT,
        **_OWN,
        **PLAN_SETTINGS,
        **_server_keepalive(deadlines),
        "statement_timeout": _milliseconds(STATEMENT_TIMEOUT),
        "lock_timeout": _milliseconds(deadlines.lock),
        "idle_in_transaction_session_timeout": _milliseconds(deadlines.idle_in_transaction),
    }


def step_settings(deadlines: Deadlines) -> dict[str, str]:
    """Return the settings of connections for `ctx.transaction()`.

    The user's SQL keeps the search path and the planner settings of its role and database. Its statements have no
    timeout but that of the step.
    """
    return {
        "application_name": "kairos step",
        **_CORRECT,
        **_server_keepalive(deadlines),
        "statement_timeout": "0",
        "lock_timeout": _milliseconds(deadlines.lock * _STEP_FACTOR),
        "idle_in_transaction_session_timeout": _milliseconds(STEP_OPEN_AT_MOST),
    }


def migration_settings(deadlines: Deadlines) -> dict[str, str]:
    """Return the settings of connections for a migration, which takes long and sets its lock timeout itself."""
    settings = own_settings(deadlines)
    for name in PLAN_SETTINGS:
        del settings[name]
    return {
        **settings,
        "statement_timeout": "0",
        # The connection with the migration lock is idle in its transaction for as long as an index is built.
        "idle_in_transaction_session_timeout": "0",
    }


def transaction_settings(deadlines: Deadlines) -> str:
    """Return a statement that sets the timeouts of one transaction, for poolers, which accept no startup settings."""
    return (
        f"set local lock_timeout = {_milliseconds(deadlines.lock)}; "
        f"set local idle_in_transaction_session_timeout = {_milliseconds(deadlines.idle_in_transaction)}"
    )


def libpq_arguments(
    url: str, stated: dict[str, str], deadlines: Deadlines, *, prepare: bool
) -> dict[str, Any]:
    """Return the connection arguments of psycopg besides the URL and the host."""
    arguments: dict[str, Any] = {
        "application_name": stated["application_name"],
        "client_encoding": "utf8",  # asyncpg states it by itself
        "connect_timeout": max(2, round(deadlines.connect)),
        **_libpq_keepalive(deadlines),
    }
    if prepare:  # a pooler in transaction mode takes no settings
        settings = (f"-c {name}={_escaped(stated[name])}" for name in stated if name != "application_name")
        arguments["options"] = " ".join([str(conninfo_to_dict(url).get("options") or ""), *settings]).strip()
    return arguments


def keeper_settings(deadlines: Deadlines) -> dict[str, str]:
    """Return the settings of the keeper's connection: the server's timeouts are shorter than the keeper's own."""
    limit = _milliseconds(deadlines.renewal * 0.8)
    return {**own_settings(deadlines, "kairos keeper"), "statement_timeout": limit, "lock_timeout": limit}


def _libpq_keepalive(deadlines: Deadlines) -> dict[str, int]:
    """Return the keepalive arguments of libpq, by which it notices a server that vanished."""
    idle, interval, count = _probes(deadlines)
    return {
        "keepalives": 1,
        "keepalives_idle": idle,
        "keepalives_interval": interval,
        "keepalives_count": count,
        "tcp_user_timeout": round(deadlines.network * 1000),
    }


def keep_alive(tcp: Any, deadlines: Deadlines) -> None:
    """Set TCP keepalive on asyncpg's socket, since asyncpg has no setting for it; a platform may lack some options."""
    if tcp is None or tcp.family not in (socket.AF_INET, socket.AF_INET6):
        return
    # uvloop's socket would raise ValueError, which is not the error of a lost connection.
    if tcp.fileno() < 0:
        raise ConnectionResetError("the server closed the connection at once")
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle, interval, count = _probes(deadlines)
    for name, value in (
        ("TCP_KEEPIDLE", idle),
        ("TCP_KEEPINTVL", interval),
        ("TCP_KEEPCNT", count),
        ("TCP_USER_TIMEOUT", round(deadlines.network * 1000)),
    ):
        if (option := getattr(socket, name, None)) is not None:
            tcp.setsockopt(socket.IPPROTO_TCP, option, value)


def _server_keepalive(deadlines: Deadlines) -> dict[str, str]:
    """Return the server settings by which Postgres notices a client that vanished; a Unix socket ignores them."""
    idle, interval, count = _probes(deadlines)
    return {
        "tcp_keepalives_idle": str(idle),
        "tcp_keepalives_interval": str(interval),
        "tcp_keepalives_count": str(count),
        "tcp_user_timeout": _milliseconds(deadlines.network),
    }


def _probes(deadlines: Deadlines) -> tuple[int, int, int]:
    """Return the seconds before the first keepalive probe and between two, and their number: `network` in all."""
    return max(1, round(deadlines.network / 2)), 1, max(2, round(deadlines.network / 2))


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
