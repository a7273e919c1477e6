"""`client.schedules`: the verbs of schedules over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kairos.remote import reading
from kairos.remote.talk import Ask, Talk, ask
from kairos.remote.wire import RemoteCall, part, wire

if TYPE_CHECKING:
    from kairos.remote.client import KairosClient


class RemoteSchedules:
    """The verbs of schedules, awaited where the client is async."""

    def __init__(self, client: KairosClient) -> None:
        self._client = client

    def add(self, name: str, when: str, call: RemoteCall, **options: Any) -> Any:
        """Make a schedule: `kairos.schedules.add("nightly", "every day at 3am", kairos.call("report"))`."""
        body = {"name": name, "when": when, **call.body(), **wire(options)}
        return self._client._run(self._schedule("POST", "", body))

    def get(self, name: str) -> Any:
        """One schedule, with its next ticks."""
        return self._client._run(self._schedule("GET", _path(name)))

    def list(self) -> Any:
        """Iterate over every schedule."""
        return self._client._iterate(self._client._pages("/api/schedules", "schedules", {}, reading.schedule))

    def ticks(self, name: str) -> Any:
        """Iterate over what was decided on a schedule's ticks, newest first."""
        path = f"/api/schedules{_path(name)}/ticks"
        return self._client._iterate(
            self._client._pages(path, "ticks", {}, lambda document: reading.tick(document, name))
        )

    def pause(self, name: str, reason: str | None = None) -> Any:
        """Let a schedule fire no more until it is resumed."""
        body = None if reason is None else {"reason": reason}
        return self._client._run(self._schedule("POST", f"{_path(name)}/pause", body))

    def resume(self, name: str) -> Any:
        """Let a schedule fire again."""
        return self._client._run(self._schedule("POST", f"{_path(name)}/resume"))

    def trigger(self, name: str) -> Any:
        """Enqueue a schedule's job now, outside its ticks; answers its id."""
        return self._client._run(self._made(f"{_path(name)}/trigger"))

    def backfill(self, name: str, start: datetime, end: datetime) -> Any:
        """Fire the ticks in (start, end] that were never decided; answers the ids of the jobs."""
        body = {"start": start.isoformat(), "end": end.isoformat()}
        return self._client._run(self._backfilled(f"{_path(name)}/backfill", body))

    def remove(self, name: str) -> Any:
        """Delete a schedule; its jobs and ticks stay."""
        return self._client._run(self._schedule("DELETE", _path(name)))

    def _schedule(self, method: str, path: str, body: Any = None) -> Talk[Any]:
        request = Ask(method, f"/api/schedules{path}", body=body, again=method == "GET")
        return reading.schedule((yield from ask(request, self._client._tries))["schedule"])

    def _made(self, path: str) -> Talk[int]:
        document = yield from ask(Ask("POST", f"/api/schedules{path}"), self._client._tries)
        return int(document["job"]["id"])

    def _backfilled(self, path: str, body: Any) -> Talk[Sequence[int]]:
        document = yield from ask(Ask("POST", f"/api/schedules{path}", body=body), self._client._tries)
        return [each["id"] for each in document["jobs"]]


def _path(name: str) -> str:
    return f"/{part(name)}"
