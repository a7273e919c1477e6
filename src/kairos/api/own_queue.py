"""Protect Kairos's own queue, whose jobs deliver alarms: to change it or its jobs takes the scope `admin`."""

from __future__ import annotations

from fastapi import Request

from kairos.api.responses import caller_of, kairos_of
from kairos.errors import Forbidden
from kairos.machine.field_checks import OWN_QUEUE
from kairos.shapes.key import Scope


def may_change_own_queue(request: Request) -> bool:
    return caller_of(request).may(Scope.ADMIN)


def check_own_queue(request: Request, queue: str) -> None:
    """Refuse Kairos's own queue to callers without the scope `admin`."""
    if queue == OWN_QUEUE and not may_change_own_queue(request):
        raise Forbidden(f"The queue {queue!r} delivers alarms: changing it takes the scope {Scope.ADMIN}.")


async def check_job(request: Request, id: int) -> None:  # noqa: A002 (the name in the path)
    """Refuse a job of Kairos's own queue to callers without the scope `admin`."""
    if not may_change_own_queue(request):
        check_own_queue(request, (await kairos_of(request).get(id)).queue)
