"""What the service's documents are to Python: the same values that the app itself answers with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import TypeAdapter

from kairos.fsm.lifecycle import JobState
from kairos.machine.backoff import shown_policy
from kairos.store.rows import HistoryRow, Job, LogRow, Queue, SignalRow, WorkerRow
from kairos.store.schedules import Schedule, Tick
from kairos.verbs.alarms import Alarm

T = TypeVar("T")
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream: its name, what it tells, and where to go on after it."""

    name: str
    data: Any
    cursor: int | None = None


def job(document: Document, *, is_new: bool = True) -> Job:
    error = document["error"] or {}
    return Job(
        id=document["id"],
        action=document["action"],
        version=document["version"],
        state=JobState(document["state"]),
        step=document["step"],
        attempt=document["attempt"],
        queue=document["queue"],
        priority=document["priority"],
        key=document["key"],
        tags=tuple(document["tags"]),
        input=document["input"],
        output=document["output"],
        error_code=error.get("code"),
        error=error.get("message"),
        progress=document["progress"],
        inserted_at=instant(document["createdAt"]),
        run_at=instant(document["runAt"]),
        started_at=instant(document["startedAt"]),
        completed_at=instant(document["completedAt"]),
        expires_at=instant(document["expiresAt"]),
        cancel_requested_at=instant(document["cancelRequestedAt"]),
        cancel_reason=document["cancelReason"],
        retry=shown_policy(document.get("retry")),
        retry_of=document["retryOf"],
        reply_to=document["replyTo"],
        schedule=document["schedule"],
        worker=document["worker"],
        awaits=tuple(document["awaits"]),
        await_until=instant(document["awaitUntil"]),
        unique=document["unique"],
        created_by=document.get("createdBy"),
        request_id=document.get("requestId"),
        trace=document.get("trace"),
        is_new=is_new,
    )


def history(document: Document) -> HistoryRow:
    return _plain(HistoryRow, {**document, "from_state": document["from"], "to_state": document["to"]})


def log_line(document: Document) -> LogRow:
    return _plain(LogRow, document)


def signal(document: Document) -> SignalRow:
    return _plain(SignalRow, {**document, "inserted_at": document["at"]})


def worker(document: Document) -> WorkerRow:
    return _plain(WorkerRow, document)


def alarm(document: Document) -> Alarm:
    return _plain(Alarm, document)


def queue(document: Document) -> Queue:
    limits = {
        **_rate("rate", document.get("rate")),
        **_rate("key_rate", document.get("keyRate")),
    }
    return _plain(Queue, {**document, **limits, "atLeast": tuple(document.get("atLeast", ()))})


def schedule(document: Document) -> Schedule:
    ticks = document["nextTicks"]
    known = {
        "generation": 0,
        "next_tick_at": ticks[0] if ticks else None,
    }  # the service does not tell the first
    return _plain(Schedule, {**document, **known})


def tick(document: Document, name: str) -> Tick:
    told = {"schedule": name, "generation": 0, "job_id": document["job"], "reason": document["skipped"]}
    return _plain(Tick, {**document, **told})


def instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _rate(name: str, rate: Document | None) -> dict[str, Any]:
    return {
        f"{name}_limit": None if rate is None else rate["limit"],
        f"{name}_period": None if rate is None else timedelta(seconds=rate["seconds"]),
    }


def _plain(cls: type[T], document: Document) -> T:
    """A value of `cls` from a document that says the same in camelCase; what `cls` does not know is left out."""
    names = {each.name for each in fields(cls)}  # type: ignore[arg-type]
    given = {_snake(name): value for name, value in document.items()}
    adapter = _ADAPTERS.get(cls) or _ADAPTERS.setdefault(cls, TypeAdapter(cls))
    answer: T = adapter.validate_python({name: given[name] for name in names & given.keys()})
    return answer


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
