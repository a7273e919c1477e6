"""The exchanges behind the client's methods: the requests of each, and how it reads the responses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from kairos.durations import Duration, duration
from kairos.errors import NotFinished
from kairos.fsm.lifecycle import JobState
from kairos.remote.exchange import HttpRequest, Item, Talk, send
from kairos.shapes import parse
from kairos.shapes.job import Job, failure_of
from kairos.shapes.job_filters import MOST_SEARCHES, search_too_long

_LONGEST_WAIT = 30.0  # of one request; the client asks again


class RemoteOperations(ABC):
    """Builds exchanges; a runner executes them."""

    _tries: int

    @abstractmethod
    def _apply(self, request: str, job: Job, **details: Any) -> Any:
        """Apply a request to a job that this client read."""

    def _job(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, once: bool = False
    ) -> Talk[Job]:
        document = yield from send(self._asked(method, path, body, once=once), self._tries)
        return self._bound(document["job"])

    def _batch(self, bodies: list[dict[str, Any]]) -> Talk[list[Job]]:
        if not bodies:
            return []
        document = yield from send(
            self._asked("POST", "/api/jobs/batch", {"jobs": bodies}, once=True), self._tries
        )
        return [self._bound(each["job"], is_new=each["isNew"]) for each in document["jobs"]]

    def _signal(self, job_id: int, body: Mapping[str, Any]) -> Talk[str]:
        path = f"/api/jobs/{job_id}/signals"
        document = yield from send(self._asked("POST", path, body, once=True), self._tries)
        return str(document["signal"]["answer"])

    def _wait(self, job_id: int, timeout: Duration | None) -> Talk[Job]:
        left = None if timeout is None else duration(timeout, "timeout").total_seconds()
        while True:
            wait = _LONGEST_WAIT if left is None else min(left, _LONGEST_WAIT)
            request = HttpRequest("GET", f"/api/jobs/{job_id}/wait", {"timeout": wait}, again=True, wait=wait)
            job = self._bound((yield from send(request, self._tries))["job"])
            left = None if left is None else left - wait
            if job.is_terminal or (left is not None and left <= 0):
                return job

    def _result(self, job_id: int, timeout: Duration | None) -> Talk[Any]:
        job = yield from self._wait(job_id, timeout)
        if job.state is JobState.SUCCESS:
            return job.output
        if job.is_terminal:
            raise failure_of(job)
        raise NotFinished(f"Job {job.id} ({job.action}) is still {job.state}.")

    def _one(
        self, method: str, path: str, noun: str, cls: type[Any], params: Mapping[str, Any] | None = None
    ) -> Talk[Any]:
        document = yield from send(self._asked(method, path, params=params), self._tries)
        return document[noun] if cls is dict else parse(cls, document[noun])

    def _nothing(self, method: str, path: str) -> Talk[None]:
        """Send a request whose response holds no noun."""
        yield from send(self._asked(method, path), self._tries)

    def _list(self, path: str, noun: str, cls: type[Any]) -> Talk[list[Any]]:
        """Read a whole list, page by page."""
        whole: list[Any] = []
        params: dict[str, Any] = {}
        while True:
            document = yield from send(HttpRequest("GET", path, params, again=True), self._tries)
            whole += [parse(cls, each) for each in document[noun]]
            if (cursor := document.get("nextCursor")) is None:
                return whole
            params = {"cursor": cursor}

    def _pages(self, path: str, noun: str, params: Mapping[str, Any], read: Any) -> Talk[None]:
        """Yield each item of a list, page by page; raise `BadRequest` after a long search that found nothing."""
        asked, found, searches = params, 0, 0
        while True:
            document = yield from send(HttpRequest("GET", path, asked, again=True), self._tries)
            for each in document[noun]:
                yield Item(read(each))
            if (cursor := document.get("nextCursor")) is None:
                return
            found += len(document[noun])
            searches = 0 if document[noun] else searches + 1
            if searches == MOST_SEARCHES:
                filters = [name for name, value in params.items() if value is not None and name != "limit"]
                raise search_too_long(filters, found, document["searchedTo"], f"cursor={cursor!r}")
            asked = {**params, "cursor": cursor}

    def _asked(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        once: bool = False,
    ) -> HttpRequest:
        headers = {"Idempotency-Key": uuid4().hex} if once else {}
        return HttpRequest(method, path, params or {}, body, headers, again=once or method == "GET")

    def _bound(self, document: Mapping[str, Any], **extra: Any) -> Job:
        return parse(Job, document, **extra).bound(self._apply)
