"""Django in a worker: `app.around_step(django_connections)`."""

from __future__ import annotations

from typing import Any

from kairos.machine.context import Context


class django_connections:  # noqa: N801 (used as a function)
    """Close Django's broken and outdated database connections around each step, as Django does around each request.

    Without it a worker goes on with a connection that a restart of the database broke, and every later step in its
    thread fails.
    """

    def __init__(self, ctx: Context[Any] | None = None) -> None:
        from django.db import close_old_connections

        self._close = close_old_connections

    def __enter__(self) -> None:
        self._close()

    def __exit__(self, *_: object) -> None:
        self._close()

    async def __aenter__(self) -> None:
        from asgiref.sync import sync_to_async

        await sync_to_async(self._close)()  # in the thread where an async step's queries run

    async def __aexit__(self, *_: object) -> None:
        await self.__aenter__()
