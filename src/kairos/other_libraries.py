"""Names that users of Celery, RQ, Dramatiq or APScheduler try first, and what to write here."""

from __future__ import annotations

from typing import Any

from kairos.suggest import nearest

_RETRY = "retry=Backoff(attempts=…), which counts the first execution too"
_ATTEMPTS = "attempts=…, which counts the first execution too"
_TIMEOUT = 'timeout="30s" at @app.job(…)'
_SCHEDULE = '@app.schedule("every day at 09:00") above @app.job'
WORKER = "`kairos worker module:app` in a shell, or `async with app, app.worker():`"
_RESULT = "app.result(job.id), or the action's own result(job)"

# Options of other libraries whose nearest name here means something else.
OPTIONS = {
    "max_retries": _RETRY,
    "retries": _RETRY,
    "attempts": _RETRY,
    "max_attempts": _RETRY,
    "retry_backoff": "retry=Backoff(base=…, factor=…, cap=…)",
    "autoretry_for": "retry=Backoff(attempts=…, only=(…,))",
    "countdown": 'delay="10m"',
    "eta": "run_at=…",
    "expires": 'ttl="1h"',
    "time_limit": _TIMEOUT,
    "timeout": _TIMEOUT,
    "soft_time_limit": _TIMEOUT,
}
# Arguments of retry policies.
BACKOFF = {
    "max_retries": _ATTEMPTS,
    "retries": _ATTEMPTS,
    "max_attempts": _ATTEMPTS,
    "max": _ATTEMPTS,
    "delay": "base=…, the delay before the first retry",
    "interval": "base=… with factor=1, for the same delay each time",
    "min": "base=…, the delay before the first retry",
    "backoff": "base=… and factor=…",
    "exponential": "factor=2, which is the default",
    "max_delay": "cap=…, the longest delay",
    "retry_backoff_max": "cap=…, the longest delay",
    "exceptions": "only=(…,)",
    "retry_on": "only=(…,)",
    "autoretry_for": "only=(…,)",
    "dont_autoretry_for": "never=(…,)",
    "retry_jitter": "jitter=0.1, a share of the delay",
}
# Options of schedules.
_FIRST = "the time as the first argument"
SCHEDULE = {
    "args": "input={…}, the arguments by name",
    "kwargs": "input={…}, the arguments by name",
    "cron": f'{_FIRST}, such as "0 9 * * *"',
    "crontab": f'{_FIRST}, such as "0 9 * * *"',
    "every": f'{_FIRST}, such as "every 5 minutes"',
    "interval": f'{_FIRST}, such as "every 5 minutes"',
    "minutes": f'{_FIRST}, such as "every 5 minutes"',
    "hours": f'{_FIRST}, such as "every 2 hours"',
    "timezone": "tz=…",
}
# Methods of tasks.
ACTION = {
    "delay": "{0}.enqueue(…), or {0}.options(delay=…).enqueue(…) for later",
    "apply_async": "{0}.options(…).enqueue(…)",
    "send": "{0}.enqueue(…)",
    "send_with_options": "{0}.options(…).enqueue(…)",
    "defer": "{0}.enqueue(…)",
    "s": "{0}.call(…)",
    "si": "{0}.call(…)",
    "apply": "{0}(…) to call the function here",
    "configure": "{0}.options(…)",
}
# Arguments that methods of an app do not take.
METHOD = {
    "enqueue": " The arguments of an action go to the action: write deliver.enqueue(user_id=7), or "
    "app.enqueue(deliver.call(user_id=7)).",
}
# Attributes of apps, brokers and schedulers.
APP = {
    "task": "@app.job",
    "actor": "@app.job",
    "shared_task": "@app.job",
    "send_task": 'app.enqueue(app.action("name").call(…))',
    "AsyncResult": "app.get(job_id) or app.result(job_id)",
    "fetch_job": "app.get(job_id)",
    "cron": _SCHEDULE,
    "periodic": _SCHEDULE,
    "periodic_task": _SCHEDULE,
    "scheduled_job": _SCHEDULE,
    "add_job": f"{_SCHEDULE}, or app.schedules.add(…) for one that a program makes",
    "add_periodic_task": f"{_SCHEDULE}, or app.schedules.add(…) for one that a program makes",
    "conf": "Kairos(url, …), KAIROS_… variables or kairos.toml",
    "autodiscover_tasks": "an import of the modules that have the jobs",
    "start": WORKER,
    "run_worker": WORKER,
    "worker_main": WORKER,
}
# Attributes of an app that a SyncKairos does not have.
SYNC_APP = {
    "worker": "`kairos worker module:app` in a shell, or make it a Kairos",
    "asgi": "`kairos serve` in a shell, or make it a Kairos",
}
# Attributes of results and jobs.
JOB = {
    "get": _RESULT,
    "result": _RESULT,
    "wait": _RESULT,
    "return_value": _RESULT,
    "status": "job.state",
    "ready": "job.is_terminal, after app.get(job.id) has read it again",
    "successful": 'job.state == "success"',
    "failed": 'job.state == "failed"',
    "refresh": "app.get(job.id)",
    "revoke": "app.cancel(job.id)",
    "cancel": "app.cancel(job.id)",
    "traceback": "app.logs(job.id), whose last line has it",
    "args": "job.input",
    "kwargs": "job.input",
    "task_id": "job.id",
    "func_name": "job.action",
    "name": "job.action",
    "created_at": "job.inserted_at",
    "enqueued_at": "job.inserted_at",
    "ended_at": "job.completed_at",
    "finished_at": "job.completed_at",
}
# Options and commands of other command lines.
COMMAND_LINE = {
    "-A": "name the app without an option, as in `kairos worker module:app`",
    "--app": "name the app without an option, as in `kairos worker module:app`",
    "-Q": "write --queues",
    "-c": "write --concurrency",
    "-l": "write --log-level",
    "--loglevel": "write --log-level",
    "-B": "leave it out: every worker fires schedules",
    "--beat": "leave it out: every worker fires schedules",
    "beat": "every worker fires schedules, see `kairos worker`",
    "scheduler": "every worker fires schedules, see `kairos worker`",
    "flower": "the dashboard is part of `kairos serve`",
    "dashboard": "the dashboard is part of `kairos serve`",
    "status": "write `kairos top`, or `kairos doctor` for what is wrong",
    "inspect": "write `kairos top`, or `kairos doctor` for what is wrong",
    "call": "write `kairos enqueue`",
}


def missing_attribute(owner: Any, what: str, name: str, meant: str | None) -> AttributeError:
    """Return the error for an attribute that does not exist, with what to write instead."""
    names = {*dir(type(owner)), *getattr(type(owner), "__dataclass_fields__", ())}
    # Programs, not people, ask for names with an underscore, and often.
    public = [] if name.startswith("_") else [each for each in names if not each.startswith("_")]
    hint = f": write {meant}." if meant else f".{nearest(name, public)}"
    message = f"{what} has no {name!r}{hint}"
    # With the object Python adds a suggestion of its own, after ours.
    return (
        AttributeError(message, name=name) if hint != "." else AttributeError(message, name=name, obj=owner)
    )
