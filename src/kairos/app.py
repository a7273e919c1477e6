"""`Kairos` and `SyncKairos`: the registry, the database and the verbs in one object."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import structlog

from kairos.actions import builtin
from kairos.actions.webhook import with_webhooks
from kairos.client import AsyncFace, AsyncOn, SyncFace, SyncOn
from kairos.config import BUILT_IN, Settings, load
from kairos.embedded import Server
from kairos.errors import DatabaseUnavailable
from kairos.hints import Poker
from kairos.machine.registry import Registry
from kairos.store.blocking import SyncStore
from kairos.store.foreign import executor
from kairos.store.pool import AsyncStore
from kairos.store.query import Query, Row, Verb, statements
from kairos.store.schedules import Calendars
from kairos.verbs.declared import Declared, synchronise
from kairos.verbs.machines import register
from kairos.worker.worker import Worker, WorkerSettings

log = structlog.get_logger("kairos")
T = TypeVar("T")


class _Database:
    """Where the database is: at a URL, or embedded and started when first needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.server: Server | None = None
        self._process = os.getpid()

    def start(self) -> str:
        if self.settings.database_url is not None:
            return self.settings.database_url
        self._notice_fork()
        if self.server is None:
            self.server = Server(self.settings.data)
            atexit.register(self.stop)  # an app that was opened by its first verb may never be closed
        return self.server.start()

    def stop(self) -> None:
        self._notice_fork()
        if self.server is not None:
            atexit.unregister(self.stop)
            self.server.stop()
            self.server = None

    def _notice_fork(self) -> None:
        """A fork has its parent's server in its hands, and must not stop it by leaving."""
        if self._process != os.getpid():
            self._process, server, self.server = os.getpid(), self.server, None
            if server is not None:
                atexit.unregister(self.stop)
                server.forget()


class _App:
    """What both apps are made of; `settings` are those of `kairos.config.Settings`."""

    def __init__(self, url: str | None = None, **settings: Any) -> None:
        self.registry = Registry()
        self.declared: list[Declared] = []
        self.settings = load({"database_url": url, **settings})
        builtin.register(self.registry, self.settings)
        self.calendars: Calendars = self.settings.holidays
        self._database = _Database(self.settings)

    def on(self, connection: Any, *, hint: bool = True) -> Any:
        """The verbs on your own connection or session, committing with your own rows.

        Your commit tells the workers, for which Postgres lets such commits pass one at a time; with `hint=False`
        they find the job by looking, within their `poll`.
        """
        execute, is_async = executor(connection)
        sql = statements(self.settings.schema)
        face = (AsyncOn if is_async else SyncOn)(self.registry, sql, execute, hint)
        face.calendars = self.calendars
        return face


class Kairos(_App, AsyncFace):
    """The async app. Without a URL it runs on the Postgres that ships with it."""

    def __init__(self, url: str | None = None, **settings: Any) -> None:
        super().__init__(url, **settings)
        self._store: AsyncStore | None = None
        self._opening: asyncio.Lock | None = None
        self._poker = Poker(self._send_pokes)

    async def __aenter__(self) -> Kairos:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect, and check that schema and code fit; the embedded database is brought up to date."""
        if self._store is not None:
            return
        opening = self._opening = (
            self._opening or asyncio.Lock()
        )  # made here: it belongs to the loop of today
        async with opening:
            if self._store is None:
                self._store = await self._connect()
                self._opening = None

    async def _connect(self) -> AsyncStore:
        store = AsyncStore(await asyncio.to_thread(self._database.start), self.settings)
        try:
            await store.open()
            if self.settings.database_url is None:
                await store.migrate()
            await store.check()
        except BaseException:
            await store.close()
            await asyncio.to_thread(self._database.stop)
            raise
        return store

    async def close(self) -> None:
        await self._poker.close()
        if self._store is not None:
            store, self._store = self._store, None
            await store.close()
        await asyncio.to_thread(self._database.stop)

    async def migrate(self) -> list[str]:
        """Bring the schema up to what this code needs; answers the names of the migrations applied."""
        store = self._store or AsyncStore(await asyncio.to_thread(self._database.start), self.settings)
        return await store.migrate()

    def worker(self, queues: Any = None, concurrency: int = 20, **settings: Any) -> Worker:
        """A worker in this process: `async with app, app.worker(queues=["mail"]): …`."""
        wanted = WorkerSettings(
            queues=self._queues() if queues is None else queues, concurrency=concurrency, **settings
        )
        return Worker(lambda: self.store, self._machines(), wanted, prepare=self.synchronise)

    async def transact(self, make: Callable[[], Verb[T]]) -> T:
        """Run one verb in one transaction; its hints to workers go out once it is committed."""
        await self.open()
        answer, hints = await self.store.transact(make)
        for hint in hints:
            if hint.name == "notify_queues":
                self._poker.poke(*hint.params)
            else:
                await self._hint(hint)
        return answer

    async def synchronise(self) -> None:
        """Put the machines and schedules that the code declares into the database; a worker does so when it starts."""
        await self.run(register(self._machines()))
        actions = sorted({machine.name for machine in self.registry} - set(BUILT_IN))
        for name in await self.run(synchronise(self.settings.name, self.declared, actions, self.calendars)):
            log.error("a schedule is paused: the code no longer declares it", schedule=name)

    def asgi(self, **settings: Any) -> Any:
        """The HTTP service as an ASGI app, to mount in one of your own: `outer.mount("/kairos", app.asgi())`.

        `settings` are those of the service. It lets nobody in without a key, unless `open=True` is given
        and the database has no keys.
        """
        from kairos.api import build, load_service

        return build(self, load_service(settings))

    @property
    def store(self) -> AsyncStore:
        if self._store is None:
            raise DatabaseUnavailable("The app is not open: use `async with app:` around what needs it.")
        return self._store

    def _machines(self) -> Registry:
        """What a worker works with: what the code declares, and what delivers alarms."""
        return with_webhooks(self.registry, lambda: self.store, self.settings)

    def _queues(self) -> list[str]:
        return sorted({machine.queue for machine in self.registry} | {"default"})

    async def _execute(self, query: Query) -> Sequence[Row]:
        await self.open()
        rows = await self.store.run(query)
        if query.pokes:
            self._poker.poke(query.pokes)
        return rows

    async def _send_pokes(self, queues: list[str]) -> None:
        await self._hint(Query("notify_queues", (queues,)))

    async def _hint(self, hint: Query) -> None:
        if self._store is None:
            return
        try:
            await self._store.run(hint)
        except DatabaseUnavailable as error:
            log.warning("a hint to the workers was lost: they find the jobs by polling", error=str(error))


class SyncKairos(_App, SyncFace):
    """The same app for programs without an event loop; threads may share it, and forks too."""

    def __init__(self, url: str | None = None, **settings: Any) -> None:
        super().__init__(url, **settings)
        self._store: SyncStore | None = None
        self._opening = threading.Lock()
        self._process = os.getpid()

    def __enter__(self) -> SyncKairos:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Connect, and check that schema and code fit; the embedded database is brought up to date."""
        self._notice_fork()
        with self._opening:
            if self._store is not None:
                return
            store = SyncStore(self._database.start(), self.settings)
            try:
                store.open()
                if self.settings.database_url is None:
                    store.migrate()
                store.check()
            except BaseException:
                store.close()
                self._database.stop()
                raise
            self._store = store

    def close(self) -> None:
        self._notice_fork()
        if self._store is not None:
            store, self._store = self._store, None
            store.close()
        self._database.stop()

    def _notice_fork(self) -> None:
        """A fork has its parent's connection in its hands, and must not talk on it; also a lock may be another's."""
        if self._process != os.getpid():
            self._process, self._opening = os.getpid(), threading.Lock()
            if self._store is not None:
                self._store.forget()
                self._store = None

    def migrate(self) -> list[str]:
        """Bring the schema up to what this code needs; answers the names of the migrations applied."""
        if self._store is not None:
            return self._store.migrate()
        store = SyncStore(self._database.start(), self.settings)
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
        rows = self.store.run(query)
        if query.pokes:
            self.store.run(Query("notify_queues", (sorted(query.pokes),)))
        return rows
