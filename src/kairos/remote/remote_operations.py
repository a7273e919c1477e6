"""The exchanges behind the methods of the client: which requests they send, and how they read the responses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from kairos.durations import Duration, duration
from kairos.errors import NotFinished
from kairos.fsm.lifecycle import JobState
from kairos.remote.exchange import Exchange, HttpRequest, Item, send
from kairos.shapes import parse
from kairos.shapes.job import Job, failure_of
from kairos.shapes.job_filters import MOST_SEARCHES, search_too_long

_LONGEST_WAIT = 30.0  # of one request, which is repeated until the job ends


class RemoteOperations(ABC):
    """Build exchanges, which a runner executes."""

    _tries: int

    @abstractmethod
    def _apply(self, request: str, job: Job, **details: Any) -> Any:
        """Make a request for a job that this client has read."""

    def _job(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, once: bool = False
    ) -> Exchange[Job]:
        document = yield from send(self._http_request(method, path, body, once=once), self._tries)
        return self._bound(document["job"])

    def _batch(self, bodies: list[dict[str, Any]]) -> Exchange[list[Job]]:
        if not bodies:
            return []
        document = yield from send(
            self._http_request("POST", "/api/jobs/batch", {"jobs": bodies}, once=True), self._tries
        )
        return [self._bound(each["job"], is_new=each["isNew"]) for each in document["jobs"]]

    def _signal(self, job_id: int, body: Mapping[str, Any]) -> Exchange[str]:
        path = f"/api/jobs/{job_id}/signals"
        document = yield from send(self._http_request("POST", path, body, once=True), self._tries)
        return str(document["signal"]["answer"])

    def _wait(self, job_id: int, timeout: Duration | None) -> Exchange[Job]:
        left = None if timeout is None else duration(timeout, "timeout").total_seconds()
        while True:
            wait = _LONGEST_WAIT if left is None else min(left, _LONGEST_WAIT)
            request = HttpRequest(
                "GET", f"/api/jobs/{job_id}/wait", {"timeout": wait}, repeatable=True, wait=wait
            )
            job = self._bound((yield from send(request, self._tries))["job"])
            left = None if left is None else left - wait
            if job.is_terminal or (left is not None and left <= 0):
                return job

    def _result(self, job_id: int, timeout: Duration | None) -> Exchange[Any]:
        job = yield from self._wait(job_id, timeout)
        if job.state is JobState.SUCCESS:
            return job.output
        if job.is_terminal:
            raise failure_of(job)
        raise NotFinished(f"Job {job.id} ({job.action}) is still {job.state}.")

    def _read_one(
        self, method: str, path: str, member: str, cls: type[Any], params: Mapping[str, Any] | None = None
    ) -> Exchange[Any]:
        document = yield from send(self._http_request(method, path, params=params), self._tries)
        return document[member] if cls is dict else parse(cls, document[member])

    def _send_only(self, method: str, path: str) -> Exchange[None]:
        """Send a request and ignore the document of its response."""
        yield from send(self._http_request(method, path), self._tries)

    def _list(self, path: str, member: str, cls: type[Any]) -> Exchange[list[Any]]:
        """Read a whole list, page by page."""
        whole: list[Any] = []
        params: dict[str, Any] = {}
        while True:
            document = yield from send(HttpRequest("GET", path, params, repeatable=True), self._tries)
            whole += [parse(cls, each) for each in document[member]]
            if (cursor := document.get("nextCursor")) is None:
                return whole
            params = {"cursor": cursor}

    def _pages(self, path: str, member: str, params: Mapping[str, Any], read: Any) -> Exchange[None]:
        """Yield each item of a list, page by page; raise `BadRequest` after a long search that found nothing."""
        asked, found, searches = params, 0, 0
        while True:
            document = yield from send(HttpRequest("GET", path, asked, repeatable=True), self._tries)
            for each in document[member]:
                yield Item(read(each))
            if (cursor := document.get("nextCursor")) is None:
                return
            found += len(document[member])
            searches = 0 if document[member] else searches + 1
            if searches == MOST_SEARCHES:
                filters = [name for name, value in params.items() if value is not None and name != "limit"]
                raise search_too_long(filters, found, document["searchedTo"], f"cursor={cursor!r}")
            asked = {**params, "cursor": cursor}

    def _http_request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        once: bool = False,
    ) -> HttpRequest:
        headers = {"Idempotency-Key": uuid4().hex} if once else {}
        return HttpRequest(method, path, params or {}, body, headers, repeatable=once or method == "GET")

    def _bound(self, document: Mapping[str, Any], **extra: Any) -> Job:
        return parse(Job, document, **extra).bound(self._apply)
