"""Checks of the Postgres server: schema, read-only, isolation level, triggers, synchronous standby, disk space."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import asyncpg

from kairos.errors import ConfigError, NoStandby, StandbyAway
from kairos.store import schema_state
from kairos.store.driver_errors import unavailable

_READ_ONLY = "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean"

# It differs from the level that Kairos sets only behind a pooler, which ignores the setting.
_ISOLATION = "select current_setting('default_transaction_isolation')"

# Postgres runs ordinary triggers except in the role "replica". Only a superuser may set it, so Kairos checks it.
_TRIGGERS = "select current_setting('session_replication_role')"

# Checked on every new connection, since a failover may lead to a primary without a standby, and again after `TRUSTED`
# seconds, since an administrator may turn it off.
TRUSTED = 5.0
WAITS_FOR_STANDBY = """
select current_setting('synchronous_standby_names') <> ''
  and current_setting('synchronous_commit') not in ('off', 'local')
"""

# Whether commits hang: a session has waited for a standby for seconds, or no standby is connected. Without
# pg_read_all_stats a user sees only its own sessions, and nothing about the standbys.
STANDBY_AWAY = """
select exists (
    select from pg_stat_activity a
    where a.wait_event = 'SyncRep' and a.state_change < clock_timestamp() - interval '3 seconds'
  )
  or (
    current_setting('synchronous_standby_names') <> ''
    and current_setting('synchronous_commit') not in ('off', 'local')
    and pg_has_role('pg_read_all_stats', 'usage')
    and not exists (select from pg_stat_replication r where r.sync_state in ('sync', 'quorum'))
  )
"""

# Extends a temporary table in the database's own tablespace, as new jobs would; it is rolled back.
TAKES_SPACE = """
create temp table kairos_space on commit drop as select repeat('x', 1000) as filler from generate_series(1, 1000)
"""


def check_server(schema: str) -> Generator[str, Any, None]:
    """Raise if the schema does not fit this code, the server is read-only, or its settings break Kairos's rules.

    Yields statements that each return one value.
    """
    found = yield from schema_state.inspect(schema)
    if (yield _READ_ONLY):
        raise unavailable(asyncpg.ReadOnlySQLTransactionError())
    _check_isolation((yield _ISOLATION))
    _check_triggers((yield _TRIGGERS))
    schema_state.check(found)


def _check_isolation(found: str) -> None:
    """Require READ COMMITTED: delivering a signal and parking a job rely on a new snapshot for each statement."""
    if found != "read committed":
        raise ConfigError(
            f"The sessions behind the pooler have default_transaction_isolation = {found!r}: "
            "set it to 'read committed' for the user or the database that Kairos connects to."
        )


def _check_triggers(role: str) -> None:
    """Require that triggers run: the guard of the lifecycle and the ledger of accepted jobs are triggers."""
    if role == "replica":
        raise ConfigError(
            "Here session_replication_role = 'replica', so triggers do not run, and Kairos's guard and ledger are "
            "triggers: reset it for the user or the database that Kairos connects to."
        )


def no_standby() -> NoStandby:
    return NoStandby(
        "Commits wait for no standby here, and require_standby is on: set synchronous_standby_names in Postgres, "
        "or turn the setting off."
    )


def standby_away() -> StandbyAway:
    return StandbyAway(
        "Commits wait for a synchronous standby that is away: start it again, "
        "or take it out of synchronous_standby_names."
    )
