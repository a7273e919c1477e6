"""Which driver errors mean that the database is away, rather than that we asked for something wrong."""

from __future__ import annotations

import asyncio

import asyncpg
import psycopg

from kairos.errors import DatabaseUnavailable

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
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    psycopg.OperationalError,
    psycopg.errors.ReadOnlySqlTransaction,
)

# Postgres chose us as the victim; the same statement may simply be sent again.
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


def unavailable(error: BaseException) -> DatabaseUnavailable:
    """The same error in our words, without a password that the URL may carry."""
    if isinstance(error, asyncpg.ReadOnlySQLTransactionError | psycopg.errors.ReadOnlySqlTransaction):
        return DatabaseUnavailable("Postgres is read-only here: point Kairos at the primary.")
    first_line = (str(error) or type(error).__name__).splitlines()[0]
    return DatabaseUnavailable(f"Postgres cannot be reached: {first_line}")
