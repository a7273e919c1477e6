"""A backend for `django.tasks`, which comes with Django 6: each task is a job, enqueued in Django's own transaction.

    TASKS = {"default": {"BACKEND": "kairos.integrations.django.tasks.KairosBackend"}}

`manage.py kairos worker` runs them.
"""

from __future__ import annotations

import traceback
from copy import deepcopy
from typing import Any

import django
from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import close_old_connections, connections
from django.tasks.backends.base import BaseTaskBackend
from django.tasks.base import TaskContext, TaskError, TaskResult, TaskResultStatus
from django.tasks.exceptions import TaskResultDoesNotExist
from django.tasks.signals import task_enqueued, task_finished, task_started
from django.utils.json import normalize_json
from django.utils.module_loading import import_string

from kairos import Backoff, Context, Job, JobState, Kairos, SyncKairos
from kairos.errors import KairosError, NotFound
from kairos.fsm.lifecycle import TERMINAL, TRANSITIONS
from kairos.integrations.django.database import check_settings, database_url
from kairos.integrations.django.task_backends import queues_of_tasks
from kairos.suggest import did_you_mean

if not apps.ready:  # a worker process that was started by another one
    django.setup()

check_settings()
ACTION = "django.task"
_ALIAS: str = getattr(settings, "KAIROS_DATABASE", "default")
_OPTIONS = ("retry", "ttl")
_FAILED = "the task failed"
_STATUS = dict.fromkeys(TERMINAL, TaskResultStatus.FAILED) | {
    JobState.RUNNING: TaskResultStatus.RUNNING,
    JobState.SUCCESS: TaskResultStatus.SUCCESSFUL,
}
_ENDS_A_RUN = frozenset(row.verb for row in TRANSITIONS if JobState.RUNNING in row.sources)


def register(app: Kairos | SyncKairos) -> Any:
    """Let an app run tasks too, beside jobs of its own, from all their queues; return the action."""

    def run_task(ctx: Context, backend: str, task: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        close_old_connections()  # a database that was restarted meanwhile is met with a new connection
        try:
            return _run(ctx, import_string(task).using(backend=backend), args, kwargs)
        finally:
            close_old_connections()

    app.registry.extra_queues |= queues_of_tasks()
    return app.job(name=ACTION)(run_task)


app = SyncKairos(database_url(_ALIAS))
_task = register(app)


class KairosBackend(BaseTaskBackend):  # type: ignore[misc]  # Django has no types
    """Tasks as jobs. OPTIONS: `retry` with the arguments of a Backoff, `ttl`."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        for name in self.options:
            if name not in _OPTIONS:
                raise ImproperlyConfigured(
                    f"OPTIONS of TASKS[{alias!r}] has {name!r}, which Kairos does not know."
                    f"{did_you_mean(name, _OPTIONS)}"
                )
        try:
            self._retry = Backoff(**self.options["retry"]) if self.options.get("retry") else None
            _task.options(ttl=self.options.get("ttl"))  # checked now, not at the first task
        except KairosError as error:
            raise ImproperlyConfigured(f"OPTIONS of TASKS[{alias!r}]: {error.message}") from error

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> TaskResult:
        self.validate_task(task)
        call = _task.options(
            queue=task.queue_name,
            priority=-task.priority,  # Django's higher is earlier
            run_at=task.run_after,
            ttl=self.options.get("ttl"),
            retry=self._retry,
        ).call(
            backend=self.alias,
            task=task.module_path,
            args=normalize_json(list(args)),
            kwargs=normalize_json(dict(kwargs)),
        )
        job = app.on(connections[_ALIAS]).enqueue(call)
        result = _result(job, task, [], [])
        task_enqueued.send(type(self), task_result=result)
        return deepcopy(result)

    def get_result(self, result_id: str) -> TaskResult:
        here = app.on(connections[_ALIAS])
        try:
            job = here.get(int(result_id))
        except (NotFound, ValueError):
            raise TaskResultDoesNotExist(result_id) from None
        if job.action != ACTION or job.input["backend"] != self.alias:
            raise TaskResultDoesNotExist(result_id)
        task = import_string(job.input["task"])
        task = task.using(
            backend=self.alias, queue_name=job.queue, priority=-job.priority, run_after=_asked_for(job)
        )
        return _result(job, task, here.history(job.id), here.logs(job.id))


def _run(ctx: Context, task: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call the task's function, and send Django's task signals."""
    backend = type(task.get_backend())
    running = task.get_backend().get_result(str(ctx.id))
    task_started.send(backend, task_result=running)
    context = (TaskContext(task_result=running),) if task.takes_context else ()
    try:
        value = normalize_json(task.call(*context, *args, **kwargs))
    except Exception as error:
        kind = type(error)
        stack = "".join(traceback.format_exception(error))
        ctx.log.error(_FAILED, exception=f"{kind.__module__}.{kind.__qualname__}", traceback=stack)
        allowed = (app.on(connections[_ALIAS]).get(ctx.id).retry or Backoff(attempts=1)).attempts
        if ctx.attempt + 1 >= allowed:
            failure = TaskError(
                exception_class_path=f"{kind.__module__}.{kind.__qualname__}", traceback=stack
            )
            _end(running, TaskResultStatus.FAILED, errors=[*running.errors, failure])
            task_finished.send(backend, task_result=running)
        raise
    _end(running, TaskResultStatus.SUCCESSFUL, _return_value=value)
    task_finished.send(backend, task_result=running)
    return value


def _result(job: Job, task: Any, history: Any, logs: Any) -> TaskResult:
    """Return a job as a Django `TaskResult`."""
    runs = [row for row in history if row.verb in _ENDS_A_RUN and row.started_at is not None]
    workers = [row.worker for row in runs] + ([job.worker] if job.state is JobState.RUNNING else [])
    result = TaskResult(
        task=task,
        id=str(job.id),
        status=_STATUS.get(job.state, TaskResultStatus.READY),
        enqueued_at=job.inserted_at,
        started_at=job.started_at,
        finished_at=job.completed_at,
        last_attempted_at=runs[-1].started_at if runs else job.started_at,
        args=job.input["args"],
        kwargs=job.input["kwargs"],
        backend=job.input["backend"],
        errors=[
            TaskError(exception_class_path=line.fields["exception"], traceback=line.fields["traceback"])
            for line in logs
            if line.line == _FAILED and line.fields
        ],
        worker_ids=[worker for worker in workers if worker],
    )
    object.__setattr__(result, "_return_value", job.output)
    return result


def _asked_for(job: Job) -> Any:
    """Return the instant that the caller gave, if it was later than the enqueue."""
    return job.run_at if job.run_at and job.inserted_at and job.run_at > job.inserted_at else None


def _end(result: TaskResult, status: Any, **values: Any) -> None:
    """Set the end of a result, which is frozen, for the signal."""
    for name, value in {"status": status, **values}.items():
        object.__setattr__(result, name, value)
