"""Classify the drivers' errors: unavailable database, lock or time limit reached, statement refused by Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import asyncpg
import psycopg

from kairos.errors import ConfigError, DatabaseUnavailable, KairosError

# The errors of a server that was restarted, failed over, is full or read-only, or vanished.
UNAVAILABLE: tuple[type[BaseException], ...] = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.ObjectNotInPrerequisiteStateError,  # a lock that timed out, a database closed to connections
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InvalidCachedStatementError,  # the schema was changed under a prepared statement
    psycopg.OperationalError,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.InsufficientPrivilege,
)

# The errors of connecting: those above, and the drivers' errors for a URL that they cannot parse.
UNREACHABLE: tuple[type[BaseException], ...] = (*UNAVAILABLE, ValueError, psycopg.ProgrammingError)

# Postgres ended this transaction in favour of another; the statement is sent again, `TRIES` times in all. A deadlock is
# a bug, but no work may be lost because of it.
TRIES = 5
RETRYABLE: tuple[type[BaseException], ...] = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
)

# The server takes no writes: a standby, or a primary that was demoted under an open connection.
READ_ONLY: tuple[type[BaseException], ...] = (
    asyncpg.ReadOnlySQLTransactionError,
    psycopg.errors.ReadOnlySqlTransaction,
)

# The driver knows tables or types as they were when the connection was opened.
OUTDATED: tuple[type[BaseException], ...] = (
    asyncpg.InvalidCachedStatementError,
    asyncpg.OutdatedSchemaCacheError,
)

# Another session held a lock for longer than our lock timeout; the statement did nothing.
LOCKED: tuple[type[BaseException], ...] = (asyncpg.LockNotAvailableError, psycopg.errors.LockNotAvailable)

# Postgres ended the statement at a time limit that we set.
OVERRUN: tuple[type[BaseException], ...] = (asyncpg.QueryCanceledError, asyncpg.LockNotAvailableError)

# Everything that a loop retries after a backoff.
PASSING: tuple[type[BaseException], ...] = (DatabaseUnavailable, *UNAVAILABLE, *RETRYABLE)

# Postgres refused the statement itself: sending it again would not help.
REFUSED = asyncpg.PostgresError

# A constraint refused a row.
ROW_REFUSED: tuple[type[BaseException], ...] = (
    asyncpg.IntegrityConstraintViolationError,
    psycopg.errors.IntegrityError,
)

# The driver refused the call: the connection is closed, or another call is in progress on it.
MISUSED = asyncpg.InterfaceError


# A pooler in transaction mode hands a prepared statement's name to another session, which does not know it or has
# one of its own by that name.
NEEDS_UNPREPARED: tuple[type[BaseException], ...] = (
    asyncpg.DuplicatePreparedStatementError,
    asyncpg.InvalidSQLStatementNameError,
    psycopg.errors.DuplicatePreparedStatement,
    psycopg.errors.InvalidSqlStatementName,
)
# The errors whose cause is not the statement: an unavailable database, or a pooler in the way.
UNUSABLE = (*NEEDS_UNPREPARED, *UNAVAILABLE)
_STARTUP_REFUSED = "unsupported startup parameter"

_NOT_ALLOWED = (asyncpg.InsufficientPrivilegeError, psycopg.errors.InsufficientPrivilege)
_DISK_FULL = (asyncpg.DiskFullError, psycopg.errors.DiskFull)
_NO_ANSWER = (TimeoutError, psycopg.errors.ConnectionTimeout)


def unavailable(error: BaseException) -> DatabaseUnavailable:
    """Convert a driver's error to `DatabaseUnavailable`, without a password that the URL may contain."""
    if isinstance(error, DatabaseUnavailable):
        return error
    if isinstance(error, READ_ONLY):
        return DatabaseUnavailable(
            "Postgres is read-only here: point Kairos at the primary, or turn its default_transaction_read_only off."
        )
    if isinstance(error, _NO_ANSWER):
        return DatabaseUnavailable("Postgres cannot be reached: it did not answer in time.")
    if isinstance(error, asyncpg.InternalClientError):
        # asyncpg's state after the server's last message, until the connection is closed.
        return DatabaseUnavailable("Postgres cannot be reached: it has ended the connection.")
    why = first_line(error)
    if isinstance(error, _NOT_ALLOWED):
        return DatabaseUnavailable(f"Postgres does not let this user work here: {why}")
    if isinstance(error, _DISK_FULL):
        return DatabaseUnavailable(f"Postgres has no disk space left; free some: {why}")
    if isinstance(error, LOCKED):
        return DatabaseUnavailable(
            f"Another transaction kept what this needs locked; find it in pg_stat_activity: {why}"
        )
    return DatabaseUnavailable(f"Postgres cannot be reached: {why}")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message; the others may quote the statement."""
    return (str(error) or type(error).__name__).splitlines()[0]


def remove_row(error: BaseException) -> None:
    """Remove the row that Postgres quotes if a constraint refuses it: its input may have redacted fields."""
    if isinstance(error, asyncpg.IntegrityConstraintViolationError):
        error.detail = None
    elif isinstance(error, psycopg.errors.IntegrityError):
        error.args = (error.diag.message_primary or type(error).__name__,)


def unreachable(error: BaseException) -> KairosError:
    """Convert an error of connecting; a driver's message about a bad URL may quote its password, and is hidden."""
    if isinstance(error, KairosError):
        return error
    if _STARTUP_REFUSED in str(error):
        return pooler_found()
    if isinstance(error, OSError) or not isinstance(error, ValueError | psycopg.ProgrammingError):
        return unavailable(error)
    return ConfigError(
        "The database URL is not understood: write postgresql://user:password@host:5432/name, "
        "with special characters percent-encoded."
    )


def unusable(error: BaseException) -> KairosError:
    """Convert an error of a class in `UNUSABLE`: the database is unavailable, or a pooler is in the way."""
    return pooler_found() if isinstance(error, NEEDS_UNPREPARED) else unavailable(error)


def pooler_found() -> ConfigError:
    """Return the error that says what to set behind a pooler in transaction mode."""
    return ConfigError(
        "A pooler in transaction mode stands between Kairos and Postgres: set prepare=False (KAIROS_PREPARE=false), "
        "and direct_url (KAIROS_DIRECT_URL) to Postgres itself."
    )


def first_cause(failures: Sequence[BaseException]) -> BaseException:
    """Return the first failure to connect that is not just "this host is a standby"; else the first."""
    telling = [each for each in failures if not isinstance(each, asyncpg.TargetServerAttributeNotMatched)]
    return (telling or list(failures))[0]
