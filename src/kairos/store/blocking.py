"""Running statements in the sync world: one psycopg connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import psycopg
from psycopg import RawCursor
from psycopg.rows import dict_row

from kairos.config import Settings
from kairos.store import migrate, primary
from kairos.store.faults import RETRYABLE, TRIES, UNAVAILABLE, UNREACHABLE, unavailable, unreachable
from kairos.store.query import Query, Row, statements

SyncConnection: TypeAlias = psycopg.Connection[Any]


class SyncStore:
    """One psycopg connection that runs `Query` values; threads take turns on it."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.url = url
        self.settings = settings
        self.sql = statements(settings.schema)
        self._connection: psycopg.Connection | None = None
        self._inspected = 0.0
        self._opening = threading.Lock()

    def open(self) -> psycopg.Connection:
        with self._opening:
            if self._connection is None or self._connection.closed:
                self._connection = self.connect()
            if self.settings.require_standby and time.monotonic() - self._inspected > primary.TRUSTED:
                self._inspect(self._connection)
            return self._connection

    def forget(self) -> None:
        """Let go of a connection that is our parent's, without a word to Postgres: it goes on with it."""
        self._connection = None

    def _inspect(self, connection: psycopg.Connection) -> None:
        if not self._value(connection, primary.WAITS_FOR_STANDBY):
            raise primary.no_standby()
        self._inspected = time.monotonic()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def connect(self) -> psycopg.Connection:
        try:
            connection = psycopg.connect(
                self.url, autocommit=True, connect_timeout=10, application_name="kairos"
            )
        except UNREACHABLE as error:
            raise unreachable(error) from error
        if not self.settings.prepare:
            connection.prepare_threshold = None
        if self.settings.require_standby:
            try:
                self._inspect(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection]:
        connection = self.connect()
        try:
            with connection.transaction():
                yield connection
        finally:
            connection.close()

    def run(self, query: Query) -> Sequence[Row]:
        """Run one statement by itself, retrying when Postgres picked it as a deadlock's victim."""
        for attempt in range(TRIES):
            try:
                return self.on(self.open(), query)
            except RETRYABLE:
                if attempt == TRIES - 1:
                    raise
                time.sleep(0.005 * 2**attempt)
            except UNAVAILABLE as error:
                raise unavailable(error) from error
        raise AssertionError("unreachable")

    def on(self, connection: psycopg.Connection, query: Query) -> Sequence[Row]:
        with RawCursor(connection, row_factory=dict_row) as cursor:
            cursor.execute(self.sql[query.name].encode(), query.params)
            return cursor.fetchall() if cursor.description else []

    def migrate(self) -> list[str]:
        connection = (
            self.connect()
        )  # its own: what other threads commit on ours is not to end with a rollback of this
        try:
            return migrate.migrate_sync(
                connection, self.settings.schema, audit_retention=self.settings.audit_retention
            )
        except UNAVAILABLE as error:
            raise unavailable(error) from error
        finally:
            connection.close()

    def check(self) -> None:
        """Refuse to work on a schema this code was not written for, or on a standby or otherwise read-only."""
        there, version = migrate.version_query(self.settings.schema)
        connection = self.open()
        try:
            found = self._value(connection, version) if self._value(connection, there) else None
            read_only = self._value(connection, primary.READ_ONLY)
        except UNAVAILABLE as error:
            raise unavailable(error) from error
        if read_only:
            raise unavailable(psycopg.errors.ReadOnlySqlTransaction())
        migrate.check(found)

    @staticmethod
    def _value(connection: psycopg.Connection, sql: str) -> Any:
        row = connection.execute(sql.encode()).fetchone()
        return None if row is None else row[0]
