"""`KairosClient`: the operations over HTTP, blocking within `with`, awaitable within `async with`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from pydantic.alias_generators import to_camel

from kairos.durations import Duration, duration
from kairos.errors import ConfigError
from kairos.fsm.requests import REQUESTS
from kairos.remote.exchange import Exchange
from kairos.remote.remote_operations import RemoteOperations
from kairos.remote.request_encoding import RemoteCall, path_segment, to_json_object, to_json_value
from kairos.remote.runners import AsyncRunner, SyncRunner
from kairos.remote.schedules import RemoteSchedules
from kairos.remote.sse import follow
from kairos.shapes import parse
from kairos.shapes.alarm import Alarm
from kairos.shapes.history import HistoryRow
from kairos.shapes.job import Job
from kairos.shapes.job_filters import in_query
from kairos.shapes.log_line import LogRow
from kairos.shapes.queue import Queue
from kairos.shapes.signal import SignalRow
from kairos.shapes.worker import WorkerRow

_ALIASES = {"start": "inserted_from", "end": "inserted_to"}


class KairosClient(RemoteOperations):
    """A client of the HTTP service, for programs without access to the database.

    Methods return values, or awaitables and async iterators within `async with`. Requests that are safe to repeat
    are retried up to `tries` times when the connection breaks or the service is busy: reads, and requests that create
    jobs, which carry an Idempotency-Key. Other settings (`verify`, `proxy`, …) are passed to the HTTP client.
    """

    def __init__(
        self, url: str, key: str | None = None, *, timeout: Duration = 30, tries: int = 5, **http: Any
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigError("The URL of the service begins with http:// or https://.")
        headers = {"User-Agent": "kairos-client", **({"Authorization": f"Bearer {key}"} if key else {})}
        self._settings = {"base_url": url.rstrip("/"), "headers": headers, **http}
        self._timeout = duration(timeout, "timeout").total_seconds()
        self._tries = tries
        self._runner: SyncRunner | AsyncRunner | None = None

    def __enter__(self) -> KairosClient:
        self._runner = SyncRunner(self._timeout, **self._settings)
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> KairosClient:
        self._runner = AsyncRunner(self._timeout, **self._settings)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def close(self) -> Any:
        """Close the connections."""
        runner, self._runner = self._runner, None
        return None if runner is None else runner.close()

    # Making jobs

    def options(self, **options: Any) -> RemoteOptions:
        """Return the client with scheduling options: `kairos.options(ttl="1h").enqueue("send", user_id=7)`."""
        return RemoteOptions(self, options)

    def call(self, action: str, /, **arguments: Any) -> RemoteCall:
        """Return a call as a value, for `enqueue_many`."""
        return RemoteCall(action, arguments)

    def enqueue(self, action: str | RemoteCall, /, **arguments: Any) -> Any:
        """Enqueue one job; the service checks its arguments now."""
        call = action if isinstance(action, RemoteCall) else RemoteCall(action, arguments)
        return self._run(self._job("POST", "/api/jobs", call.body(), once=True))

    def enqueue_many(self, calls: Iterable[RemoteCall]) -> Any:
        """Enqueue up to a thousand jobs in one statement; `is_new` says of each whether it was inserted."""
        return self._run(self._batch([call.body() for call in calls]))

    def retry(self, job_id: int) -> Any:
        """Make a new job from one that ended."""
        return self._request("retry", job_id, once=True)

    # Reading

    def get(self, job_id: int) -> Any:
        """Return one job as it is now."""
        return self._run(self._job("GET", f"/api/jobs/{job_id}"))

    def jobs(self, *, limit: int | None = None, **filters: Any) -> Any:
        """Iterate over jobs, newest first, page by page; the filters are those of `app.jobs`.

        `start` and `end` are other names of `inserted_from` and `inserted_to`; `limit` is the size of a page.
        """
        renamed = in_query({_ALIASES.get(name, name): to_json_value(each) for name, each in filters.items()})
        return self._iterate(self._pages("/api/jobs", "jobs", {**renamed, "limit": limit}, self._bound))

    def history(self, job_id: int) -> Any:
        """Return the history of one job, in order."""
        return self._run(self._list(f"/api/jobs/{job_id}/history", "history", HistoryRow))

    def signals(self, job_id: int) -> Any:
        """Return the signals sent to one job."""
        return self._run(self._list(f"/api/jobs/{job_id}/signals", "signals", SignalRow))

    def logs(self, job_id: int, *, after: int = 0) -> Any:
        """Iterate over the log lines of one job, page by page."""
        pages = self._pages(f"/api/jobs/{job_id}/logs", "logs", {"cursor": after}, partial(parse, LogRow))
        return self._iterate(pages)

    def follow(self, job_id: int | None = None, *, cursor: int | None = None) -> Any:
        """Iterate over the events of one job until it ends, or of all jobs without end, across broken connections."""
        path = "/api/events" if job_id is None else f"/api/jobs/{job_id}/events"
        return self._iterate(follow(path, cursor, self._tries, ends=job_id is not None))

    def wait(self, job_id: int, timeout: Duration | None = None) -> Any:
        """Return the job once it has ended, or as it is after the timeout."""
        return self._run(self._wait(job_id, timeout))

    def result(self, job_id: int, timeout: Duration | None = None) -> Any:
        """Wait for a job to end and return its output; any other end raises `JobFailed`."""
        return self._run(self._result(job_id, timeout))

    # Changing

    def cancel(self, job_id: int, *, reason: str | None = None) -> Any:
        """Cancel a job before it runs, or ask a running one to stop."""
        return self._request("cancel", job_id, reason=reason)

    def run_now(self, job_id: int) -> Any:
        """Make a scheduled job due now."""
        return self._request("run_now", job_id)

    def snooze(
        self,
        job_id: int,
        *,
        reason: str | None = None,
        delay: Duration | None = None,
        until: datetime | None = None,
    ) -> Any:
        """Postpone a job that waits for a worker, by a delay from now or until an instant."""
        return self._request("snooze", job_id, reason=reason, delay=delay, until=until)

    def edit(self, job_id: int, /, **changes: Any) -> Any:
        """Change `priority`, `queue`, `tags`, `run_at`, `ttl` or `expires_at` of a job that waits for a worker."""
        request = REQUESTS["edit"]
        body = {to_camel(name): to_json_value(each) for name, each in changes.items()}
        return self._run(self._job(request.method, request.path.format(id=job_id), body))

    def delete(self, job_id: int) -> Any:
        """Delete a job that ended, with its history, signals and logs."""
        request = REQUESTS["delete"]
        return self._run(self._send_only(request.method, request.path.format(id=job_id)))

    def signal(self, job_id: int, name: str, payload: Any = None, *, dedup_key: str | None = None) -> Any:
        """Send a signal to a job; return "woke", "delivered" or "duplicate"."""
        return self._run(
            self._signal(job_id, to_json_object({"name": name, "payload": payload, "dedup_key": dedup_key}))
        )

    # Queues, workers, schedules, alarms, stats

    def queues(self) -> Any:
        """Return the queues that have or had jobs, have settings or have a live worker."""
        return self._run(self._list("/api/queues", "queues", Queue))

    def pause(self, queue: str) -> Any:
        """Stop picking from a queue."""
        return self._run(self._read_one("POST", f"/api/queues/{path_segment(queue)}/pause", "queue", Queue))

    def resume(self, queue: str) -> Any:
        """Pick from a queue again."""
        return self._run(self._read_one("POST", f"/api/queues/{path_segment(queue)}/resume", "queue", Queue))

    def workers(self) -> Any:
        """Return the registered workers."""
        return self._run(self._list("/api/workers", "workers", WorkerRow))

    @property
    def schedules(self) -> RemoteSchedules:
        """The operations on schedules."""
        return RemoteSchedules(self)

    def alarms(self, *, all: bool = False) -> Any:  # noqa: A002 (its name in the URL)
        """Iterate over the open alarms; with `all`, also over recently cleared ones."""
        params = {"all": "true"} if all else {}
        return self._iterate(self._pages("/api/alarms", "alarms", params, partial(parse, Alarm)))

    def acknowledge(self, alarm_id: int) -> Any:
        """Acknowledge an alarm; one about a past event is cleared by that."""
        return self._run(self._read_one("POST", f"/api/alarms/{alarm_id}/acknowledge", "alarm", Alarm))

    def stats(self, window: int = 3600) -> Any:
        """Return the statistics, as the document of `GET /api/stats`."""
        return self._run(self._read_one("GET", "/api/stats", "stats", dict, {"window": window}))

    def _request(self, name: str, job_id: int, *, once: bool = False, **details: Any) -> Any:
        """Make a request whose response is a job."""
        request = REQUESTS[name]
        body = to_json_object(details) or None
        return self._run(self._job(request.method, request.path.format(id=job_id), body, once=once))

    def _apply(self, request: str, job: Job, **details: Any) -> Any:
        return self._request(request, job.id, **details)

    def _run(self, exchange: Exchange[Any]) -> Any:
        return self._open_runner().run(exchange)

    def _iterate(self, exchange: Exchange[Any]) -> Any:
        return self._open_runner().iterate(exchange)

    def _open_runner(self) -> SyncRunner | AsyncRunner:
        if self._runner is None:
            self._runner = SyncRunner(self._timeout, **self._settings)
        return self._runner


class RemoteOptions:
    """A client with scheduling options for what it enqueues, which never mix with the arguments of actions."""

    def __init__(self, client: KairosClient, options: Mapping[str, Any]) -> None:
        self._client = client
        self._options = options

    def call(self, action: str, /, **arguments: Any) -> RemoteCall:
        """Return a call as a value, for `enqueue_many`."""
        return RemoteCall(action, arguments, self._options)

    def enqueue(self, action: str, /, **arguments: Any) -> Any:
        """Enqueue one job."""
        return self._client.enqueue(self.call(action, **arguments))
