"""`Kairos` and `SyncKairos`: the registry, the database and the operations in one object."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Never, TypeVar

from kairos import defaults
from kairos.client import AsyncOnConnection, AsyncOperations, SyncOnConnection, SyncOperations
from kairos.config import BUILT_IN, Settings, has_database, load, shown_url
from kairos.errors import BadArguments, DatabaseUnavailable, NoDatabase
from kairos.logger import Logger
from kairos.machine.registry import Registry
from kairos.operations.declared_schedules import Declared, synchronise
from kairos.operations.machines import register
from kairos.operations.queues_and_workers import declare_limits
from kairos.other_libraries import APP, SYNC_APP, missing_attribute
from kairos.store.query import Operation, Outbox, Query, Row, statements
from kairos.store.schedule_rows import Calendars
from kairos.suggest import did_you_mean

if TYPE_CHECKING:
    from kairos.embedded import Server
    from kairos.store.async_store import AsyncStore
    from kairos.store.sync_store import SyncStore
    from kairos.worker.worker import Worker

log = Logger("kairos")
T = TypeVar("T")
_announced: set[str] = set()  # the databases that this process has named


class Database:
    """The database: at a URL, or embedded and started on first use."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.server: Server | None = None
        self._process = os.getpid()

    def start(self) -> str:
        if self.settings.database_url is not None:
            return self.settings.database_url
        if not (self.settings.embedded or has_database(self.settings.data)):
            raise NoDatabase(
                f"No database is named, and there is none in {self.settings.data.resolve()}: set KAIROS_DATABASE_URL "
                "to a Postgres of yours, or run `kairos dev` here to make an embedded one "
                "(in code: Kairos(embedded=True))."
            )
        self._notice_fork()
        if self.server is None:
            from kairos.embedded import Server

            self.server = Server(self.settings.data)
            atexit.register(self.stop)  # an app that its first operation opened may never be closed
        return self.server.start()

    def announce(self) -> None:
        """Log once which database is used: programs that do not see each other's jobs often use different ones."""
        url = self.settings.database_url
        place = str(self.settings.data.resolve()) if url is None else shown_url(url)
        if place in _announced:
            return
        _announced.add(place)
        if url is None:
            log.notice("embedded database in use", folder=place)
        else:
            log.notice("database in use", url=place)

    def stop(self) -> None:
        self._notice_fork()
        if self.server is not None:
            atexit.unregister(self.stop)
            self.server.stop()
            self.server = None

    def _notice_fork(self) -> None:
        """Forget the server in a forked child: it belongs to the parent, which stops it."""
        if self._process != os.getpid():
            self._process, server, self.server = os.getpid(), self.server, None
            if server is not None:
                atexit.unregister(self.stop)
                server.discard_after_fork()


class _App:
    """The base of both apps; `settings` are those of `kairos.config.Settings`."""

    def __init__(self, url: str | None = None, **settings: Any) -> None:
        self.registry = Registry()
        self.declared: list[Declared] = []
        self.settings = load({"database_url": url, **settings})
        if self.settings.actions:
            from kairos.actions import builtin

            builtin.register(self.registry, self.settings)
        self.calendars: Calendars = self.settings.holidays
        self.database = Database(self.settings)

    @property
    def database_url(self) -> str:
        """The URL of the database, for connections of your own; an embedded database is started if it does not run."""
        return self.database.start()

    if not TYPE_CHECKING:  # a type checker refuses unknown names by itself

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute(self, "An app", name, APP.get(name))

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            raise TypeError(
                "A Kairos app is no web app itself: mount or serve app.asgi(), or run `kairos serve`."
            )

    def on(self, connection: Any, *, hint: bool = True) -> Any:
        """Return the operations on your own connection or session, so that jobs commit with your own rows.

        Your commit sends the notification to workers, and Postgres serialises commits that notify; with `hint=False`
        none is sent, and workers find the job within their `poll` interval.
        """
        from kairos.store.user_connections import executor

        execute, is_async = executor(connection)
        sql = statements(self.settings.schema)
        bound = (AsyncOnConnection if is_async else SyncOnConnection)(self.registry, sql, execute, hint)
        bound.calendars = self.calendars
        return bound


class Kairos(_App, AsyncOperations):
    """The async app. Without a URL it uses the embedded Postgres of this folder or the nearest parent that has one."""

    def __init__(self, url: str | None = None, **settings: Any) -> None:
        super().__init__(url, **settings)
        self._store: AsyncStore | None = None
        self._opening: asyncio.Lock | None = None

    async def __aenter__(self) -> Kairos:
        await self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    if not TYPE_CHECKING:

        def __enter__(self) -> Kairos:
            raise TypeError("This app is async: write `async with app:`, or make it a SyncKairos.")

        __exit__ = __aexit__  # `with` asks for both first

    async def open(self) -> None:
        """Connect, and check that schema and code fit; an embedded database is migrated first."""
        self._notice_closed_loop()
        if self._store is not None:
            return
        # Created here: a lock belongs to the running loop.
        opening = self._opening = self._opening or asyncio.Lock()
        async with opening:
            if self._store is None:
                self._store = await self._connect()
                self._opening = None

    async def _connect(self) -> AsyncStore:
        from kairos.store.async_store import AsyncStore

        store = AsyncStore(await asyncio.to_thread(self.database.start), self.settings)
        try:
            await store.open()
            if self.settings.database_url is None:
                await store.migrate()
            await store.check()
            self.database.announce()
        except BaseException:
            await store.close()
            await asyncio.to_thread(self.database.stop)
            raise
        return store

    def _notice_closed_loop(self) -> None:
        """Forget connections that went with the event loop of an earlier `asyncio.run`."""
        if self._store is not None and self._store.is_lost:
            self._store = self._opening = None

    async def close(self) -> None:
        self._notice_closed_loop()
        if self._store is not None:
            store, self._store = self._store, None
            await store.close()
        await asyncio.to_thread(self.database.stop)

    async def migrate(self) -> list[str]:
        """Bring the schema up to date; returns the names of the applied migrations."""
        from kairos.store.async_store import AsyncStore

        store = self._store or AsyncStore(await asyncio.to_thread(self.database.start), self.settings)
        return await store.migrate()

    def take_store(self) -> AsyncStore | None:
        """Detach the open store from the app without closing it, and return it; None if the app is not open."""
        store, self._store, self._opening = self._store, None, None
        return store

    def put_store(self, store: AsyncStore | None) -> None:
        """Attach a store that `take_store` returned."""
        self._store = store

    def worker(self, queues: Any = None, concurrency: int = defaults.CONCURRENCY, **settings: Any) -> Worker:
        """A worker in this process: `async with app, app.worker(queues=["mail"]): …`."""
        from kairos.worker.worker import Worker
        from kairos.worker.worker_settings import WorkerSettings

        known = WorkerSettings.__dataclass_fields__
        for name in settings:
            if name not in known:
                raise BadArguments(f"A worker has no option {name!r}.{did_you_mean(name, known)}", field=name)
        wanted = WorkerSettings(
            queues=self._queues() if queues is None else queues, concurrency=concurrency, **settings
        )
        return Worker(lambda: self.store, self._machines(), wanted, prepare=self.synchronise)

    async def transact(self, make: Callable[[], Operation[T]]) -> T:
        """Run one operation in one transaction; notifications to workers are sent after the commit."""
        await self.open()
        return await self.store.transact(make)

    async def synchronise(self, worker: str | None = None) -> None:
        """Save the machines and schedules that the code declares; a worker does so when it starts."""
        await self.run(register(self._machines()))
        await self.run(declare_limits(self.registry.limits))
        actions = sorted({machine.name for machine in self.registry} - set(BUILT_IN))
        for name in await self.run(
            synchronise(self.settings.name, self.declared, actions, self.calendars, worker)
        ):
            log.error("a schedule is paused: the code no longer declares it", schedule=name)

    def asgi(self, /, *called: Never, **settings: Any) -> Any:
        """The HTTP service as an ASGI app, to mount in one of your own: `outer.mount("/kairos", app.asgi())`.

        `settings` are those of the service. It requires an API key, unless `open=True` is given and the database
        has no keys.
        """
        if called:  # by a web server, as if it were the web app
            raise TypeError(
                'app.asgi makes the web app and is none itself: write outer.mount("/kairos", app.asgi()), '
                "or `uvicorn --factory module:app.asgi`."
            )
        from kairos.api import build, load_service

        return build(self, load_service(settings))

    @property
    def store(self) -> AsyncStore:
        if self._store is None:
            raise DatabaseUnavailable("The app is not open: use `async with app:` around what needs it.")
        return self._store

    def _machines(self) -> Registry:
        """Return the machines of a worker: those of the code, and those that run chains and deliver alarms."""
        from kairos.actions.chain import with_chains
        from kairos.actions.webhook import with_webhooks

        return with_webhooks(with_chains(self.registry), lambda: self.store, self.settings)

    def _queues(self) -> list[str]:
        return self.registry.queues

    async def _execute(self, query: Query) -> Sequence[Row]:
        await self.open()
        return await self.store.run(query)

    async def _send(self, outbox: Outbox) -> None:
        if outbox:
            self.store.outbox.add(outbox.take())


class SyncKairos(_App, SyncOperations):
    """The same app for programs without an event loop; threads may share it, and forks too."""

    def __init__(self, url: str | None = None, **settings: Any) -> None:
        super().__init__(url, **settings)
        self._store: SyncStore | None = None
        self._opening = threading.Lock()
        self._process = os.getpid()

    def __enter__(self) -> SyncKairos:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in SYNC_APP:
                raise missing_attribute(self, "A SyncKairos", name, SYNC_APP[name])
            return super().__getattr__(name)

        async def __aenter__(self) -> SyncKairos:
            raise TypeError("This app is a SyncKairos: write `with app:`, or make it a Kairos.")

        __aexit__ = __exit__  # `async with` asks for both first

    def open(self) -> None:
        """Connect, and check that schema and code fit; an embedded database is migrated first."""
        self._notice_fork()
        with self._opening:
            if self._store is not None:
                return
            from kairos.store.sync_store import SyncStore

            store = SyncStore(self.database.start(), self.settings)
            try:
                store.open()
                if self.settings.database_url is None:
                    store.migrate()
                store.check()
                self.database.announce()
            except BaseException:
                store.close()
                self.database.stop()
                raise
            self._store = store

    def close(self) -> None:
        self._notice_fork()
        if self._store is not None:
            store, self._store = self._store, None
            store.close()
        self.database.stop()

    def _notice_fork(self) -> None:
        """Forget the connection and the lock in a forked child: they belong to the parent."""
        if self._process != os.getpid():
            self._process, self._opening = os.getpid(), threading.Lock()
            if self._store is not None:
                self._store.discard_after_fork()
                self._store = None

    def take_store(self) -> SyncStore | None:
        """Detach the open store from the app without closing it, and return it; None if the app is not open."""
        store, self._store = self._store, None
        return store

    def put_store(self, store: SyncStore | None) -> None:
        """Attach a store that `take_store` returned."""
        self._store = store

    def migrate(self) -> list[str]:
        """Bring the schema up to date; returns the names of the applied migrations."""
        if self._store is not None:
            return self._store.migrate()
        from kairos.store.sync_store import SyncStore

        store = SyncStore(self.database.start(), self.settings)
        try:
            return store.migrate()
        finally:
            store.close()

    @property
    def store(self) -> SyncStore:
        if self._store is None:
            raise DatabaseUnavailable("The app is not open: use `with app:` around what needs it.")
        return self._store

    def _execute(self, query: Query) -> Sequence[Row]:
        self.open()
        return self.store.run(query)

    def _send(self, outbox: Outbox) -> None:
        if outbox:
            self.store.outbox.add(outbox.take())
