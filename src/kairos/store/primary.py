"""What a server must be for Kairos to work on it."""

from __future__ import annotations

from kairos.errors import NoStandby

READ_ONLY = "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean"

# Of the primary there is now: asked on every new connection, since a failover may lead to one that waits for nobody,
# and again after so many seconds, since whoever manages it may turn it off.
TRUSTED = 5.0
WAITS_FOR_STANDBY = """
select current_setting('synchronous_standby_names') <> ''
  and current_setting('synchronous_commit') not in ('off', 'local')
"""


def no_standby() -> NoStandby:
    return NoStandby(
        "Commits wait for no standby here, and require_standby is on: set synchronous_standby_names in Postgres, "
        "with synchronous_commit on, or turn the setting off."
    )
