"""`KairosClient`: the verbs over HTTP. `with` makes it blocking, `async with` makes its answers awaitable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from kairos.durations import Duration, duration
from kairos.errors import ConfigError
from kairos.remote import reading
from kairos.remote.runners import AsyncRunner, SyncRunner
from kairos.remote.schedules import RemoteSchedules
from kairos.remote.stream import follow
from kairos.remote.talk import Talk
from kairos.remote.talks import Talks
from kairos.remote.wire import RemoteCall, part, value, wire
from kairos.store.rows import Job


class KairosClient(Talks):
    """Kairos for programs that have its URL and a key, and not its database.

    Within `with`, and without either, methods answer with values; within `async with`, with awaitables, and what
    iterates is iterated by `async for`. What may be sent twice without harm is sent again when the connection
    breaks or the service is busy, `tries` times in all: reads, and whatever makes a job, which carries a key of its
    own for that. Other settings (`verify`, `proxy`, …) are those of the HTTP client.
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> KairosClient:
        self._runner = AsyncRunner(self._timeout, **self._settings)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def close(self) -> Any:
        """Let go of the connections."""
        runner, self._runner = self._runner, None
        return None if runner is None else runner.close()

    # Making jobs

    def options(self, **options: Any) -> RemoteOptions:
        """Scheduling options for what is enqueued next: `kairos.options(ttl="1h").enqueue("send", user_id=7)`."""
        return RemoteOptions(self, options)

    def call(self, action: str, /, **arguments: Any) -> RemoteCall:
        """A call as a value, for `enqueue_many`."""
        return RemoteCall(action, arguments)

    def enqueue(self, action: str | RemoteCall, /, **arguments: Any) -> Any:
        """Accept one job; the service checks its arguments now."""
        call = action if isinstance(action, RemoteCall) else RemoteCall(action, arguments)
        return self._run(self._job("POST", "/api/jobs", call.body(), once=True))

    def enqueue_many(self, calls: Iterable[RemoteCall]) -> Any:
        """Accept many jobs in one statement, a thousand at most; each answer tells by `is_new` whether it is new."""
        return self._run(self._batch([call.body() for call in calls]))

    def retry(self, job_id: int) -> Any:
        """Make a new job from one that ended."""
        return self._run(self._job("POST", f"/api/jobs/{job_id}/retry", once=True))

    # Looking

    def get(self, job_id: int) -> Any:
        """One job as it is now."""
        return self._run(self._job("GET", f"/api/jobs/{job_id}"))

    def jobs(self, **filters: Any) -> Any:
        """Iterate over jobs, newest first, page by page: `state`, `action`, `queue`, `key`, `tag`, `schedule`, `text`,
        `start`, `end`."""
        renamed = {
            {"start": "from", "end": "to"}.get(name, name): value(each) for name, each in filters.items()
        }
        return self._iterate(self._pages("/api/jobs", "jobs", renamed, self._bound))

    def history(self, job_id: int) -> Any:
        """Everything that was committed for one job, in order."""
        return self._run(self._list(f"/api/jobs/{job_id}/history", "history", reading.history))

    def signals(self, job_id: int) -> Any:
        """Everything that was ever sent to one job."""
        return self._run(self._list(f"/api/jobs/{job_id}/signals", "signals", reading.signal))

    def logs(self, job_id: int, *, after: int = 0) -> Any:
        """Iterate over what the steps of one job have said, page by page."""
        pages = self._pages(f"/api/jobs/{job_id}/logs", "logs", {"cursor": after}, reading.log_line)
        return self._iterate(pages)

    def follow(self, job_id: int | None = None, *, cursor: int | None = None) -> Any:
        """Iterate over the events of one job until its end, or of all jobs for ever, across broken connections."""
        path = "/api/events" if job_id is None else f"/api/jobs/{job_id}/events"
        return self._iterate(follow(path, cursor, self._tries, ends=job_id is not None))

    def wait(self, job_id: int, timeout: Duration | None = None) -> Any:
        """The job once it has ended, or as it is when the time is over."""
        return self._run(self._wait(job_id, timeout))

    def result(self, job_id: int, timeout: Duration | None = None) -> Any:
        """Wait for a job to end and return its output; any other end raises `JobFailed`."""
        return self._run(self._result(job_id, timeout))

    # Changing

    def cancel(self, job_id: int, *, reason: str | None = None) -> Any:
        """Cancel a job before it runs, or ask a running one to stop."""
        body = None if reason is None else {"reason": reason}
        return self._run(self._job("POST", f"/api/jobs/{job_id}/cancel", body))

    def run_now(self, job_id: int) -> Any:
        """Bring a scheduled job's time forward to now."""
        return self._run(self._job("POST", f"/api/jobs/{job_id}/run-now"))

    def signal(self, job_id: int, name: str, payload: Any = None, *, dedup_key: str | None = None) -> Any:
        """Send a signal to a job; it answers "woke", "delivered" or "duplicate"."""
        return self._run(
            self._signal(job_id, wire({"name": name, "payload": payload, "dedup_key": dedup_key}))
        )

    # Queues, workers, schedules, alarms, stats

    def queues(self) -> Any:
        """Every queue that has live work or settings."""
        return self._run(self._list("/api/queues", "queues", reading.queue))

    def pause(self, queue: str) -> Any:
        """Stop picking from a queue."""
        return self._run(self._one("POST", f"/api/queues/{part(queue)}/pause", "queue", reading.queue))

    def resume(self, queue: str) -> Any:
        """Pick from a queue again."""
        return self._run(self._one("POST", f"/api/queues/{part(queue)}/resume", "queue", reading.queue))

    def workers(self) -> Any:
        """The workers that are there."""
        return self._run(self._list("/api/workers", "workers", reading.worker))

    @property
    def schedules(self) -> RemoteSchedules:
        """The verbs of schedules."""
        return RemoteSchedules(self)

    def alarms(self, *, all: bool = False) -> Any:  # noqa: A002 (its name in the URL)
        """Iterate over the alarms that are open; with `all`, also over those that were cleared lately."""
        params = {"all": "true"} if all else {}
        return self._iterate(self._pages("/api/alarms", "alarms", params, reading.alarm))

    def acknowledge(self, alarm_id: int) -> Any:
        """Say that you have seen an alarm."""
        return self._run(self._one("POST", f"/api/alarms/{alarm_id}/acknowledge", "alarm", reading.alarm))

    def stats(self, window: int = 3600) -> Any:
        """How things stand, as the document of `GET /api/stats`."""
        return self._run(self._one("GET", "/api/stats", "stats", dict, {"window": window}))

    def _apply(self, verb: str, job: Job, **details: Any) -> Any:
        return {"cancel": self.cancel, "run_now": self.run_now}[verb](job.id, **details)

    def _run(self, talk: Talk[Any]) -> Any:
        return self._ready().run(talk)

    def _iterate(self, talk: Talk[Any]) -> Any:
        return self._ready().iterate(talk)

    def _ready(self) -> SyncRunner | AsyncRunner:
        if self._runner is None:
            self._runner = SyncRunner(self._timeout, **self._settings)
        return self._runner


class RemoteOptions:
    """A client with scheduling options; they never mix with arguments."""

    def __init__(self, client: KairosClient, options: Mapping[str, Any]) -> None:
        self._client = client
        self._options = options

    def call(self, action: str, /, **arguments: Any) -> RemoteCall:
        """A call as a value, for `enqueue_many`."""
        return RemoteCall(action, arguments, self._options)

    def enqueue(self, action: str, /, **arguments: Any) -> Any:
        """Accept one job."""
        return self._client.enqueue(self.call(action, **arguments))
