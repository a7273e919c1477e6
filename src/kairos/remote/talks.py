"""The conversations behind a client's methods: what each asks, and what it makes of the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from kairos.durations import Duration, duration
from kairos.errors import JobFailed, NotFinished
from kairos.fsm.lifecycle import JobState
from kairos.remote import reading
from kairos.remote.talk import Ask, Item, Talk, ask
from kairos.store.rows import Job

_LONGEST_WAIT = 30.0  # of one request; the client asks again


class Talks(ABC):
    """No I/O here: a runner carries them out."""

    _tries: int

    @abstractmethod
    def _apply(self, verb: str, job: Job, **details: Any) -> Any:
        """Move a job that was read here."""

    def _job(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, once: bool = False
    ) -> Talk[Job]:
        document = yield from ask(self._asked(method, path, body, once=once), self._tries)
        return self._bound(document["job"])

    def _batch(self, bodies: list[dict[str, Any]]) -> Talk[list[Job]]:
        if not bodies:
            return []
        document = yield from ask(
            self._asked("POST", "/api/jobs/batch", {"jobs": bodies}, once=True), self._tries
        )
        return [self._bound(each["job"], is_new=each["isNew"]) for each in document["jobs"]]

    def _signal(self, job_id: int, body: Mapping[str, Any]) -> Talk[str]:
        path = f"/api/jobs/{job_id}/signals"
        document = yield from ask(self._asked("POST", path, body, once=True), self._tries)
        return str(document["signal"]["answer"])

    def _wait(self, job_id: int, timeout: Duration | None) -> Talk[Job]:
        left = None if timeout is None else duration(timeout, "timeout").total_seconds()
        while True:
            wait = _LONGEST_WAIT if left is None else min(left, _LONGEST_WAIT)
            request = Ask("GET", f"/api/jobs/{job_id}/wait", {"timeout": wait}, again=True, wait=wait)
            job = self._bound((yield from ask(request, self._tries))["job"])
            left = None if left is None else left - wait
            if job.is_terminal or (left is not None and left <= 0):
                return job

    def _result(self, job_id: int, timeout: Duration | None) -> Talk[Any]:
        job = yield from self._wait(job_id, timeout)
        if job.state is JobState.SUCCESS:
            return job.output
        if job.is_terminal:
            raise JobFailed(
                f"Job {job.id} ({job.action}) is {job.state}: {job.error or job.cancel_reason}", job=job
            )
        raise NotFinished(f"Job {job.id} ({job.action}) is still {job.state}.")

    def _one(
        self, method: str, path: str, noun: str, read: Any, params: Mapping[str, Any] | None = None
    ) -> Talk[Any]:
        document = yield from ask(self._asked(method, path, params=params), self._tries)
        return read(document[noun])

    def _list(self, path: str, noun: str, read: Any) -> Talk[list[Any]]:
        """The whole of a list, page by page."""
        whole: list[Any] = []
        params: dict[str, Any] = {}
        while True:
            document = yield from ask(Ask("GET", path, params, again=True), self._tries)
            whole += [read(each) for each in document[noun]]
            if (cursor := document.get("nextCursor")) is None:
                return whole
            params = {"cursor": cursor}

    def _pages(self, path: str, noun: str, params: Mapping[str, Any], read: Any) -> Talk[None]:
        while True:
            document = yield from ask(Ask("GET", path, params, again=True), self._tries)
            for each in document[noun]:
                yield Item(read(each))
            if (cursor := document.get("nextCursor")) is None:
                return
            params = {**params, "cursor": cursor}

    def _asked(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, Any] | None = None,
        once: bool = False,
    ) -> Ask:
        headers = {"Idempotency-Key": uuid4().hex} if once else {}
        return Ask(method, path, params or {}, body, headers, again=once or method == "GET")

    def _bound(self, document: Mapping[str, Any], **known: Any) -> Job:
        return reading.job(document, **known).bound(self._apply)
