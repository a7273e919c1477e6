"""Open asyncpg connections: the pool, one with synchronous_commit off, and single ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, ref

import asyncpg

from kairos.config import Settings
from kairos.errors import BadRequest
from kairos.store import connection_settings, server_checks
from kairos.store.answer_watch import AnswerWatch
from kairos.store.connection_settings import STATEMENT_TIMEOUT, Deadlines
from kairos.store.driver_errors import UNAVAILABLE, UNREACHABLE, first_cause, unreachable
from kairos.store.first_answer import first_answer
from kairos.store.hosts import Hosts
from kairos.store.step_connections import StepConnection, StepConnections, drop, is_lost
from kairos.store.sync_step_connections import SyncStepConnections
from kairos.store.sync_store import SyncStore

Connection: TypeAlias = asyncpg.Connection

# Seconds that the last used connection is kept before it is released to the pool.
_SPARE_KEPT = 1.0
# Seconds that closing all connections, or releasing one to the pool, may wait for Postgres.
CLOSE_TIMEOUT, _RELEASE_TIMEOUT = 5.0, 2.0
# Seconds after which the pool closes an unused connection: of many idle workers, each keeps only a few.
UNUSED_TIMEOUT = 60.0


async def _keep_session(_: asyncpg.Connection) -> None:
    """Reset nothing on release: our statements leave no session state."""


class AsyncConnections:
    """Every connection of one store."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.url = url
        self.settings = settings
        self.deadlines = Deadlines()
        self._hosts = {url: Hosts(url)}
        self._watches: WeakKeyDictionary[asyncpg.Connection, AnswerWatch] = WeakKeyDictionary()
        self._pool: asyncpg.Pool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # the one that the pool belongs to
        self._unsynced: asyncpg.Connection | None = None
        self._unsynced_lock = asyncio.Lock()  # several workers may share an app
        self._inspected = 0.0
        # The connection that was used last, not released yet: acquiring and releasing one costs as much as a small
        # statement. `acquire` takes it first, so that it is never idle while others wait.
        self._spare: asyncpg.Connection | None = None
        self._spare_timer: asyncio.TimerHandle | None = None
        self._spare_used = False
        self._waiting = 0
        # Behind a pooler a session cannot be reset and used by another step.
        self.step_connections = StepConnections(self._connect_for_step, reuse=settings.prepare)
        self.sync_step_connections = SyncStepConnections(SyncStore(url, settings))

    @property
    def open_connections(self) -> int:
        """How many connections the pool has open."""
        return 0 if self._pool is None else int(self._pool.get_size())

    async def use_lease(self, lease: float) -> None:
        """Derive the deadlines from the shortest lease of the workers that use these connections."""
        if lease < self.deadlines.lease:
            self.deadlines = Deadlines(lease)
            await self._expire()

    async def open(self) -> None:
        """Open the pool, unless it is open; refuse another event loop, which would corrupt its connections."""
        if self._pool is not None:
            if asyncio.get_running_loop() is not self._loop:
                raise BadRequest(
                    "This app is open on another event loop: await its methods there, use SyncKairos in sync code, "
                    "or ctx.spawn() in a step."
                )
            return
        self._loop = asyncio.get_running_loop()
        pool = await asyncpg.create_pool(
            self.url,
            min_size=0,
            max_size=self.settings.pool_size,
            connect=self._connect_for_pool,
            reset=_keep_session,
            max_inactive_connection_lifetime=UNUSED_TIMEOUT,
        )
        try:
            async with pool.acquire():
                self._pool = pool
        except UNREACHABLE as error:
            raise unreachable(error) from error

    async def close(self) -> None:
        """Close every connection; drop those whose server does not answer."""
        unsynced, self._unsynced = self._unsynced, None
        self.step_connections.close()
        self.sync_step_connections.close()
        await self._release_spare()
        pool, self._pool = self._pool, None
        for each in (unsynced, pool):
            if each is None:
                continue
            try:
                async with asyncio.timeout(CLOSE_TIMEOUT):
                    await each.close()
            except UNAVAILABLE:
                each.terminate()

    def terminate(self) -> None:
        """Drop every connection at once."""
        self.step_connections.close()
        self.sync_step_connections.close()
        unsynced, self._unsynced = self._unsynced, None
        pool, self._pool = self._pool, None
        for each in (unsynced, pool):
            if each is not None:
                each.terminate()

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[asyncpg.Connection]:
        """Yield a connection of the pool."""
        await self.open()
        assert self._pool is not None
        pool = self._pool
        connection, self._spare = self._spare, None
        if connection is not None and is_lost(connection):
            await self._release(pool, connection)
            connection = None
        if connection is None:
            self._waiting += 1
            try:
                connection = await pool.acquire()
            finally:
                self._waiting -= 1
        reusable = False
        watch = self._watches.get(connection._con)
        if watch is not None:
            watch.start()
        try:
            if self.settings.require_standby and time.monotonic() - self._inspected > server_checks.TRUSTED:
                await self._inspect(connection)
            yield connection
            reusable = True
        except TimeoutError:
            drop(connection)
            await self._replace_all()
            raise
        except asyncpg.InternalClientError:
            drop(connection)  # the server has ended it, and the end of the stream is still under way
            raise
        except UNAVAILABLE as error:
            if watch is not None and watch.gave_up:
                raise TimeoutError from error
            raise
        finally:
            if watch is not None:
                watch.stop()
            if reusable and self._spare is None and not self._waiting and pool is self._pool:
                self._keep(connection)
            else:
                await self._release(pool, connection)

    def _watch(self, connection: asyncpg.Connection, host: dict[str, Any]) -> AnswerWatch:
        """Return a watch of a connection's server. A strong reference to the connection would keep it in `_watches`."""
        return AnswerWatch(partial(self._answers, host), partial(self._give_up, ref(connection), host))

    async def _answers(self, host: dict[str, Any]) -> bool:
        """Whether the host answers a new connection, if only with a refusal."""
        try:
            probe = await asyncpg.connect(
                self.url,
                **{**host, "target_session_attrs": "any"},
                timeout=self.deadlines.connect,
                server_settings={"application_name": "kairos"},
            )
        except TimeoutError:
            return False
        except UNREACHABLE:
            return True
        probe.terminate()
        return True

    async def _give_up(self, connection: ref[asyncpg.Connection], host: dict[str, Any]) -> None:
        """Drop a connection to a host that hangs, and use no other connection to it."""
        self._hosts[self.url].demote(host)
        if self._pool is not None:
            await self._pool.expire_connections()
        spare, self._spare = self._spare, None
        for each in (spare, connection()):
            if each is not None:
                drop(each)

    def _keep(self, connection: asyncpg.Connection) -> None:
        self._spare, self._spare_used = connection, True
        if self._spare_timer is None:
            self._spare_timer = asyncio.get_running_loop().call_later(_SPARE_KEPT, self._release_unused_spare)

    def _release_unused_spare(self) -> None:
        """Release the spare connection to the pool if it was not used for a while."""
        self._spare_timer = None
        if self._spare is None:
            return
        if self._spare_used:
            self._spare_used = False
            self._spare_timer = asyncio.get_running_loop().call_later(_SPARE_KEPT, self._release_unused_spare)
        else:
            self._releasing = asyncio.get_running_loop().create_task(self._release_spare())

    async def _release_spare(self) -> None:
        connection, self._spare = self._spare, None
        if self._spare_timer is not None:
            self._spare_timer.cancel()
            self._spare_timer = None
        if connection is not None and self._pool is not None:
            await self._release(self._pool, connection)

    async def _release(self, pool: asyncpg.Pool, connection: asyncpg.Connection) -> None:
        try:
            await pool.release(connection, timeout=_RELEASE_TIMEOUT)
        except UNAVAILABLE:
            drop(connection)  # not raised: it would replace a cancellation or the first error

    async def _expire(self) -> None:
        """Make the pools replace every open connection."""
        await self.step_connections.expire()
        self.sync_step_connections.close()
        if self._pool is not None:
            await self._pool.expire_connections()
            await self._release_spare()

    @asynccontextmanager
    async def unsynced(self) -> AsyncIterator[asyncpg.Connection]:
        """Yield the connection with synchronous_commit off; one caller at a time."""
        async with self._unsynced_lock:
            if self._unsynced is None or self._unsynced.is_closed():
                self._unsynced = await self.connect(
                    server_settings={"synchronous_commit": "off"}, command_timeout=STATEMENT_TIMEOUT
                )
            try:
                yield self._unsynced
            except asyncio.CancelledError:
                drop(self._unsynced)  # the answer of the interrupted statement may still arrive
                raise
            except TimeoutError:
                drop(self._unsynced)
                await self._replace_all()
                raise

    async def _replace_all(self) -> None:
        """Replace all open connections: after one got no answer, the others would get none either."""
        await self._expire()
        if self._unsynced is not None and not self._unsynced_lock.locked():
            drop(self._unsynced)

    async def connect(
        self,
        url: str | None = None,
        *,
        server_settings: dict[str, str] | None = None,
        command_timeout: float | None = None,
    ) -> asyncpg.Connection:
        """Open a connection outside the pool; `server_settings` are added to those of Kairos's own statements."""
        stated = {**connection_settings.own_settings(self.deadlines), **(server_settings or {})}
        return await self._connect(url or self.url, stated, command_timeout)

    async def take_for_step(self) -> asyncpg.Connection:
        """Return a connection for `ctx.transaction()`; it is given back to `step_connections`."""
        try:
            connection = await self.step_connections.take()
        except UNREACHABLE as error:
            raise unreachable(error) from error
        if self.settings.require_standby and time.monotonic() - self._inspected > server_checks.TRUSTED:
            try:
                await self._inspect(connection)
            except BaseException:
                await self.step_connections.discard(connection)
                raise
        return connection

    async def _connect_for_step(self, **pool_options: Any) -> StepConnection:
        stated = connection_settings.step_settings(self.deadlines)
        connection: StepConnection = await self._open_first(self.url, stated, None, **pool_options)
        return connection

    async def connect_for_migration(self, url: str | None = None) -> asyncpg.Connection:
        return await self._connect(url or self.url, connection_settings.migration_settings(self.deadlines))

    async def connect_with_defaults(self) -> asyncpg.Connection:
        """Open a connection without settings of our own, to read the defaults of this user and database."""
        return await self._connect(self.url, {"application_name": "kairos"})

    async def _connect(
        self, url: str, server_settings: dict[str, str], command_timeout: float | None = None
    ) -> asyncpg.Connection:
        try:
            connection = await self._open_first(url, server_settings, command_timeout)
        except UNREACHABLE as error:
            raise unreachable(error) from error
        if self.settings.require_standby:
            try:
                await self._inspect(connection)
            except BaseException:
                connection.terminate()
                raise
        return connection

    async def _connect_for_pool(self, url: str, **pool_options: Any) -> asyncpg.Connection:
        stated = connection_settings.own_settings(self.deadlines)
        connection = await self._open_first(url, stated, STATEMENT_TIMEOUT, **pool_options)
        if self.settings.require_standby:
            await self._inspect(connection)
        return connection

    async def _open_first(
        self, url: str, stated: dict[str, str], command_timeout: float | None, **pool_options: Any
    ) -> asyncpg.Connection:
        """Connect to the first host that answers and has the wanted role (primary or standby), with a deadline each.

        A host that is silent does not hold up the others: after a failover it is the old primary.
        """
        hosts = self._hosts.setdefault(url, Hosts(url))
        options: dict[str, Any] = {
            "timeout": self.deadlines.connect,
            "command_timeout": command_timeout,
            "server_settings": stated,
        }
        if not self.settings.prepare:
            # A pooler in transaction mode accepts no startup settings and keeps no prepared statements.
            options["server_settings"] = {"application_name": stated["application_name"]}
            options["statement_cache_size"] = 0
        candidates = hosts.candidates()
        attempts = [partial(asyncpg.connect, url, **host, **options, **pool_options) for host in candidates]
        found = await first_answer(attempts, UNREACHABLE, drop)
        if isinstance(found, list):
            raise first_cause(found)
        number, connection = found
        hosts.prefer(candidates[number])
        if self.settings.prepare:  # a pooler answers whether or not its server does
            self._watches[connection] = self._watch(connection, candidates[number])
        connection_settings.keep_alive(connection._transport.get_extra_info("socket"), self.deadlines)
        version = connection.get_server_version().major
        if self.settings.prepare and version >= connection_settings.HAS_TRANSACTION_TIMEOUT:
            await self._set_no_transaction_timeout(connection)
        return connection

    async def _set_no_transaction_timeout(self, connection: asyncpg.Connection) -> None:
        try:
            await connection.execute(
                connection_settings.NO_TRANSACTION_TIMEOUT, timeout=self.deadlines.connect
            )
        except BaseException:
            drop(connection)
            raise

    async def _inspect(self, connection: asyncpg.Connection) -> None:
        if not await connection.fetchval(server_checks.WAITS_FOR_STANDBY):
            raise server_checks.no_standby()
        self._inspected = time.monotonic()
