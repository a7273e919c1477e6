"""`client.schedules`: the operations on schedules over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from kairos.remote.exchange import Exchange, HttpRequest, send
from kairos.remote.request_encoding import RemoteCall, path_segment, to_json_object
from kairos.shapes import parse
from kairos.shapes.schedule import Schedule, Tick

if TYPE_CHECKING:
    from kairos.remote.client import KairosClient


class RemoteSchedules:
    """The operations on schedules; awaitable if the client is async."""

    def __init__(self, client: KairosClient) -> None:
        self._client = client

    def add(self, name: str, when: str, call: RemoteCall, **options: Any) -> Any:
        """Create a schedule: `kairos.schedules.add("nightly", "every day at 3am", kairos.call("report"))`."""
        body = {"name": name, "when": when, **call.body(), **to_json_object(options)}
        return self._client._run(self._schedule("POST", "", body))

    def get(self, name: str) -> Any:
        """Return one schedule, with its next five ticks."""
        return self._client._run(self._schedule("GET", _path(name)))

    def list(self) -> Any:
        """Iterate over every schedule."""
        return self._client._iterate(self._client._pages("/api/schedules", "schedules", {}, _read))

    def ticks(self, name: str) -> Any:
        """Iterate over the decided ticks of a schedule, newest first."""
        path = f"/api/schedules{_path(name)}/ticks"
        return self._client._iterate(
            self._client._pages(path, "ticks", {}, partial(parse, Tick, schedule=name))
        )

    def pause(self, name: str, reason: str | None = None) -> Any:
        """Pause a schedule until it is resumed."""
        body = None if reason is None else {"reason": reason}
        return self._client._run(self._schedule("POST", f"{_path(name)}/pause", body))

    def resume(self, name: str) -> Any:
        """Resume a paused schedule."""
        return self._client._run(self._schedule("POST", f"{_path(name)}/resume"))

    def trigger(self, name: str) -> Any:
        """Enqueue a schedule's job now, outside its ticks; return its id."""
        return self._client._run(self._made(f"{_path(name)}/trigger"))

    def backfill(self, name: str, start: datetime, end: datetime) -> Any:
        """Fire the ticks in (start, end] that were never decided; return the ids of the jobs."""
        body = {"start": start.isoformat(), "end": end.isoformat()}
        return self._client._run(self._backfilled(f"{_path(name)}/backfill", body))

    def remove(self, name: str) -> Any:
        """Delete a schedule; its jobs and ticks stay."""
        return self._client._run(self._schedule("DELETE", _path(name)))

    def _schedule(self, method: str, path: str, body: Any = None) -> Exchange[Any]:
        request = HttpRequest(method, f"/api/schedules{path}", body=body, repeatable=method == "GET")
        return _read((yield from send(request, self._client._tries))["schedule"])

    def _made(self, path: str) -> Exchange[int]:
        document = yield from send(HttpRequest("POST", f"/api/schedules{path}"), self._client._tries)
        return int(document["job"]["id"])

    def _backfilled(self, path: str, body: Any) -> Exchange[Sequence[int]]:
        document = yield from send(
            HttpRequest("POST", f"/api/schedules{path}", body=body), self._client._tries
        )
        return [each["id"] for each in document["jobs"]]


def _read(document: Mapping[str, Any]) -> Schedule:
    schedule = parse(Schedule, document)
    return replace(schedule, next_tick_at=next(iter(schedule.next_ticks), None))


def _path(name: str) -> str:
    return f"/{path_segment(name)}"
