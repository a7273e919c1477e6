"""Which driver errors mean that the database is away, rather than that we asked for something wrong."""

from __future__ import annotations

import asyncio

import asyncpg
import psycopg

from kairos.errors import ConfigError, DatabaseUnavailable, KairosError

# What a restarted, failed-over, full, read-only or vanished server looks like from here.
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

# What connecting may raise besides: the drivers' answers to a URL that they cannot read.
UNREACHABLE: tuple[type[BaseException], ...] = (*UNAVAILABLE, ValueError, psycopg.ProgrammingError)

# Postgres chose us as the victim; the same statement may simply be sent again, so many times in all.
# A deadlock is a bug to be counted, but never one to lose work over.
TRIES = 5
RETRYABLE: tuple[type[BaseException], ...] = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
)

# Everything that a loop waits out and tries again, rather than ends over.
PASSING: tuple[type[BaseException], ...] = (DatabaseUnavailable, *UNAVAILABLE, *RETRYABLE)

# Postgres refused the statement itself: sending it again would not help.
REFUSED = asyncpg.PostgresError

# The driver refused the call; on a connection that is open, because something else is under way on it.
MISUSED = asyncpg.InterfaceError


def unavailable(error: BaseException) -> DatabaseUnavailable:
    """The same error in our words, without a password that the URL may carry."""
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError | psycopg.errors.ReadOnlySqlTransaction):
        return DatabaseUnavailable("Postgres is read-only here: point Kairos at the primary.")
    first_line = (str(error) or type(error).__name__).splitlines()[0]
    if isinstance(error, asyncpg.InsufficientPrivilegeError | psycopg.errors.InsufficientPrivilege):
        return DatabaseUnavailable(f"Postgres does not let this user work here: {first_line}")
    return DatabaseUnavailable(f"Postgres cannot be reached: {first_line}")


def unreachable(error: BaseException) -> KairosError:
    """Why there is no connection. What the drivers say of a bad URL may quote a password that was not escaped."""
    if isinstance(error, OSError) or not isinstance(error, ValueError | psycopg.ProgrammingError):
        return unavailable(error)
    return ConfigError(
        "The database URL is not understood: write postgresql://user:password@host:5432/name, "
        "with special characters percent-encoded."
    )
