"""Point an app at another database during a test, even if the app is a global of an imported module."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

from kairos.app import Database, Kairos, SyncKairos
from kairos.config import Settings
from kairos.store.sync_store import SyncStore

A = TypeVar("A", Kairos, SyncKairos)


@contextmanager
def bound(app: A, url: str) -> Iterator[A]:
    """Let the app use the database at `url` within the context, and its own again afterwards."""
    before = app.settings, app.database, app.take_store()
    app.settings = replace(app.settings, database_url=url, direct_url=None, require_standby=False)
    app.database = Database(app.settings)
    if app.settings.schema != Settings().schema:  # the test's database has only the default one
        store = SyncStore(url, app.settings)
        store.migrate()
        store.close()
    try:
        yield app
    finally:
        _close(app)
        app.settings, app.database, store_before = before
        app.put_store(store_before)


def _close(app: Kairos | SyncKairos) -> None:
    """Close an app that its test left open; the event loop of an async one may be gone already."""
    if isinstance(app, SyncKairos):
        app.close()
        return
    store = app.take_store()
    if store is not None:
        with suppress(RuntimeError, asyncio.InvalidStateError):
            store.connections.terminate()
