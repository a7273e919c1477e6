"""Run statements synchronously, on one psycopg connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import IsolationLevel, RawCursor
from psycopg.pq import PGconn
from psycopg.rows import dict_row

from kairos.config import Settings
from kairos.store import answer_watch, connection_settings, migrate, server_checks
from kairos.store.connection_settings import STATEMENT_TIMEOUT, Deadlines
from kairos.store.driver_errors import (
    RETRYABLE,
    ROW_REFUSED,
    TRIES,
    UNAVAILABLE,
    UNREACHABLE,
    UNUSABLE,
    first_cause,
    remove_row,
    unavailable,
    unreachable,
    unusable,
)
from kairos.store.hosts import Hosts
from kairos.store.outbox import SyncOutbox
from kairos.store.query import Query, Returned, Row, advance, drive_sync, statements

SyncConnection: TypeAlias = psycopg.Connection[Any]
# libpq refuses this connection string before it opens a socket, which gives a connection that is closed.
_INVALID_URL = b"nowhere"
T = TypeVar("T")


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that is closed when an answer takes longer than `answer_timeout` seconds, or its server hangs."""

    answer_timeout: float | None = None
    # Whether another step has used the session.
    was_used = False
    # Called while an answer is overdue; returns whether the server still answers new connections.
    server_answers: Callable[[], bool] = staticmethod(lambda: True)

    def hand_over(self) -> BoundedConnection:
        """Return a connection to the same session, as if it was just opened; this one and its cursors are closed."""
        with self.lock:
            session, self.pgconn = self.pgconn, PGconn.connect_start(_INVALID_URL)
        heir = BoundedConnection(session)
        heir.autocommit = True
        heir.isolation_level = IsolationLevel.READ_COMMITTED
        heir.server_answers, heir.was_used = self.server_answers, True
        return heir

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **options: Any) -> T:
        return super().wait(
            gen if self.answer_timeout is None else self._bounded(gen, self.answer_timeout), *args, **options
        )

    @contextmanager
    def answering_within(self, answer_timeout: float) -> Iterator[None]:
        """Bound each answer inside the block."""
        before, self.answer_timeout = self.answer_timeout, answer_timeout
        try:
            yield
        finally:
            self.answer_timeout = before

    def _bounded(self, gen: Generator[Any, Any, T], answer_timeout: float) -> Generator[Any, Any, T]:
        """Run the driver's exchange with the server with a deadline; the driver resumes it several times a second."""
        deadline = time.monotonic() + answer_timeout
        look_at = time.monotonic() + answer_watch.SILENCE
        ready: Any = None
        while not isinstance(wanted := advance(gen, ready), Returned):
            ready = yield wanted
            if ready or (now := time.monotonic()) < look_at:
                continue
            if now > deadline or not self.server_answers():
                self.pgconn.finish()
                raise psycopg.errors.ConnectionTimeout(f"no answer within {answer_timeout:g} s")
            look_at = min(time.monotonic() + answer_watch.SILENCE, deadline)
        return wanted.value


class SyncStore:
    """One psycopg connection that runs `Query` values; threads take turns on it."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.url = url
        self.settings = settings
        self.sql = statements(settings.schema)
        self.outbox = SyncOutbox(self.run)
        self.deadlines = Deadlines()
        self._hosts = {url: Hosts(url)}
        self._connection: psycopg.Connection | None = None
        self._inspected = 0.0
        self._opening = threading.Lock()

    def open(self) -> psycopg.Connection:
        with self._opening:
            if self._connection is None or self._connection.closed:
                self._connection = self.connect()
            if self.settings.require_standby and time.monotonic() - self._inspected > server_checks.TRUSTED:
                self._inspect(self._connection)
            return self._connection

    def discard_after_fork(self) -> None:
        """Drop a connection that was inherited from the parent process without closing it: the parent uses it."""
        self._connection = None

    def _inspect(self, connection: psycopg.Connection) -> None:
        if not self._value(connection, server_checks.WAITS_FOR_STANDBY):
            raise server_checks.no_standby()
        self._inspected = time.monotonic()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def connect(self) -> psycopg.Connection:
        """Open a connection for Kairos's own statements."""
        return self._connect(
            connection_settings.own_settings(self.deadlines), answer_timeout=STATEMENT_TIMEOUT
        )

    def connect_for_step(self) -> BoundedConnection:
        """Open a connection for `ctx.transaction()`: the user's SQL may take as long as its step."""
        return self._connect(connection_settings.step_settings(self.deadlines))

    def connect_for_migration(self) -> psycopg.Connection:
        """Open a connection for a migration, past a pooler if there is a direct URL."""
        stated = connection_settings.migration_settings(self.deadlines)
        return self._connect(stated, url=self.settings.direct_url)

    def _connect(
        self, stated: dict[str, str], answer_timeout: float | None = None, url: str | None = None
    ) -> BoundedConnection:
        try:
            connection = self._open_first(url or self.url, stated)
        except UNREACHABLE as error:
            raise unreachable(error) from error
        connection.answer_timeout = answer_timeout
        connection.isolation_level = IsolationLevel.READ_COMMITTED  # said at each BEGIN, for poolers too
        if not self.settings.prepare:
            connection.prepare_threshold = None
        if self.settings.require_standby:
            try:
                self._inspect(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _open_first(self, url: str, stated: dict[str, str]) -> BoundedConnection:
        """Connect to the first host that answers and has the wanted role (primary or standby), with a deadline each."""
        hosts = self._hosts.setdefault(url, Hosts(url))
        options = connection_settings.libpq_arguments(
            url, stated, self.deadlines, prepare=self.settings.prepare
        )
        failures: list[BaseException] = []
        for host in hosts.candidates():
            try:
                connection = BoundedConnection.connect(url, autocommit=True, **options, **host)
                self._set_no_transaction_timeout(connection)
            except UNREACHABLE as error:
                failures.append(error)
                continue
            hosts.prefer(host)
            if self.settings.prepare:  # a pooler answers whether or not its server does
                connection.server_answers = partial(self._server_answers, url, hosts, host)
            return connection
        raise first_cause(failures)

    def _set_no_transaction_timeout(self, connection: BoundedConnection) -> None:
        version = connection.info.server_version // 10_000
        if not self.settings.prepare or version < connection_settings.HAS_TRANSACTION_TIMEOUT:
            return
        try:
            with connection.answering_within(self.deadlines.connect):
                connection.execute(connection_settings.NO_TRANSACTION_TIMEOUT)
        except BaseException:
            connection.close()
            raise

    def _server_answers(self, url: str, hosts: Hosts, host: dict[str, Any]) -> bool:
        """Whether the host answers a new connection, if only with a refusal; if not, the others are tried first."""
        any_role = {**host, "target_session_attrs": "any"}
        for _ in range(answer_watch.TRIES):
            try:
                psycopg.connect(
                    url, connect_timeout=max(2, round(self.deadlines.connect)), **any_role
                ).close()
            except psycopg.errors.ConnectionTimeout:
                continue
            except UNREACHABLE:
                return True
            return True
        hosts.demote(host)
        return False

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection]:
        connection = self.connect()
        try:
            with connection.transaction():
                yield connection
        finally:
            connection.close()

    def run(self, query: Query) -> Sequence[Row]:
        """Run one statement in its own transaction; retry it after a deadlock."""
        for attempt in range(TRIES):
            try:
                return self.on(self.open(), query)
            except RETRYABLE:
                if attempt == TRIES - 1:
                    raise
                time.sleep(0.005 * 2**attempt)
            except UNUSABLE as error:
                raise unusable(error) from error
        raise AssertionError("unreachable")

    def on(self, connection: psycopg.Connection, query: Query) -> Sequence[Row]:
        with RawCursor(connection, row_factory=dict_row) as cursor:
            try:
                cursor.execute(self.sql[query.name].encode(), query.params)
            except ROW_REFUSED as error:
                remove_row(error)
                raise
            return cursor.fetchall() if cursor.description else []

    def migrate(self) -> list[str]:
        """Bring the schema up to date, on separate connections, past a pooler if there is a direct URL."""
        try:
            return migrate.migrate_sync(self.connect_for_migration, self.settings)
        except UNAVAILABLE as error:
            raise unavailable(error) from error

    def check(self) -> None:
        """Raise if the schema does not fit this code, the server is read-only, or its settings break Kairos's rules."""
        connection = self.open()
        try:
            drive_sync(server_checks.check_server(self.settings.schema), partial(self._value, connection))
        except UNUSABLE as error:
            raise unusable(error) from error

    @staticmethod
    def _value(connection: psycopg.Connection, sql: str) -> Any:
        row = connection.execute(sql.encode()).fetchone()
        return None if row is None else row[0]
