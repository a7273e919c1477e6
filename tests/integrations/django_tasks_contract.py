"""What Django 6 documents of a task backend, as a program: it is run in a process with settings of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta
from urllib.parse import parse_qs, unquote, urlsplit

import django
from django.conf import settings

URL = os.environ["KAIROS_DATABASE_URL"]
_parts = urlsplit(URL)
BACKEND = "kairos.integrations.django.tasks.KairosBackend"
settings.configure(
    USE_TZ=True,
    INSTALLED_APPS=["kairos.integrations.django"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": _parts.path.lstrip("/"),
            "USER": unquote(_parts.username or ""),
            "PASSWORD": unquote(_parts.password or ""),
            "HOST": _parts.hostname or parse_qs(_parts.query).get("host", [""])[0],
            "PORT": str(_parts.port or ""),
        }
    },
    TASKS={
        "default": {"BACKEND": BACKEND, "QUEUES": ["default", "mail"]},
        "patient": {"BACKEND": BACKEND, "OPTIONS": {"retry": {"attempts": 2, "base": 0}}},
    },
)
django.setup()

from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.db import transaction  # noqa: E402
from django.tasks import TaskResultStatus, default_task_backend, task  # noqa: E402
from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist, TaskResultMismatch  # noqa: E402
from django.tasks.signals import task_enqueued, task_finished, task_started  # noqa: E402
from django.utils import timezone  # noqa: E402

from kairos import Kairos  # noqa: E402
from kairos.integrations.django.tasks import KairosBackend, register  # noqa: E402
from kairos.integrations.django.tasks import app as tasks_app  # noqa: E402
from kairos.testing import drain  # noqa: E402

sys.modules["contract"] = sys.modules["__main__"]  # tasks are found by the path of their module
ran: list[int] = []
said: list[tuple[str, str]] = []


@task
def add(a: int, b: int = 0) -> int:
    ran.append(a)
    return a + b


@task(queue_name="mail", priority=10)
async def later(a: int) -> int:
    return a


@task
def fails() -> None:
    raise ValueError("no")


@task(takes_context=True)
def told(context, a: int) -> list[object]:
    return [context.attempt, context.task_result.id, a]


@task(backend="patient")
def flaky() -> None:
    raise KeyError("again")


for each in (add, later, fails, told, flaky):
    each.func.__module__ = "contract"
for name, signal in {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}.items():
    signal.connect(
        lambda sender, task_result, name=name, **_: said.append((name, task_result.status)), weak=False
    )


def work() -> None:
    async def run() -> None:
        app = Kairos(URL)
        register(app)
        async with app:
            await drain(app)

    asyncio.run(run())


def refused(error: type[BaseException], call: object) -> bool:
    try:
        call()  # type: ignore[operator]
    except error:
        return True
    return False


# A result before, and after.
result = add.enqueue(1, b=2)
assert (result.status, result.args, result.kwargs) == (TaskResultStatus.READY, [1], {"b": 2})
assert isinstance(result.id, str)
assert result.enqueued_at is not None
assert not result.is_finished
assert refused(ValueError, lambda: result.return_value)
work()
result.refresh()
assert (result.status, result.return_value, result.attempts) == (TaskResultStatus.SUCCESSFUL, 3, 1), result
assert result.started_at <= result.last_attempted_at <= result.finished_at
assert said == [("enqueued", "READY"), ("started", "RUNNING"), ("finished", "SUCCESSFUL")], said
print("results: ok")

# A failure.
failed = fails.enqueue()
work()
failed.refresh()
assert failed.status == TaskResultStatus.FAILED
assert [each.exception_class for each in failed.errors] == [ValueError]
assert "raise ValueError" in failed.errors[0].traceback
assert refused(ValueError, lambda: failed.return_value)
assert said[-1] == ("finished", "FAILED")
print("failures: ok")

# Retries, where the backend is told to.
patient = flaky.enqueue()
work()
patient.refresh()
assert (patient.status, patient.attempts, len(patient.errors)) == (TaskResultStatus.FAILED, 2, 2), patient
print("retries: ok")

# Finding a result again.
assert add.get_result(result.id).return_value == 3
assert refused(TaskResultMismatch, lambda: fails.get_result(result.id))
assert refused(TaskResultDoesNotExist, lambda: default_task_backend.get_result("999999"))
assert refused(TaskResultDoesNotExist, lambda: default_task_backend.get_result("no number"))
assert refused(TaskResultDoesNotExist, lambda: default_task_backend.get_result(patient.id))
print("lookups: ok")


# Coroutines, both as tasks and as callers.
async def ask() -> str:
    made = await later.aenqueue(7)
    return (await later.aget_result(made.id)).id


number = asyncio.run(ask())
work()
assert later.get_result(number).return_value == 7
print("async: ok")

# Context, time and order.
context = told.enqueue(5)
work()
context.refresh()
assert context.return_value == [1, context.id, 5]
soon = add.using(run_after=timezone.now() + timedelta(days=1)).enqueue(8)
work()
soon.refresh()
assert soon.status == TaskResultStatus.READY
assert add.get_result(soon.id).task.run_after is not None
ran.clear()
for priority in (-5, 50, 0):
    add.using(priority=priority).enqueue(priority)
work()
assert ran == [50, 0, -5], ran
assert tasks_app.registry.queues == ["default", "mail"]
print("options: ok")

# What is refused.
assert refused(InvalidTask, lambda: add.using(queue_name="nobody"))
assert refused(InvalidTask, lambda: add.using(priority=101))
assert refused(InvalidTask, lambda: task(lambda: None))
assert refused(TypeError, lambda: add.enqueue(object()))
for wrong in ({"retires": 1}, {"retry": {"atempts": 1}}, {"ttl": "1 dya"}):
    assert refused(ImproperlyConfigured, lambda wrong=wrong: KairosBackend("x", {"OPTIONS": wrong}))
print("refusals: ok")

# The transaction decides.
before = len(said)
try:
    with transaction.atomic():
        lost = add.enqueue(99)
        raise RuntimeError
except RuntimeError:
    pass
assert refused(TaskResultDoesNotExist, lambda: add.get_result(lost.id))
with transaction.atomic():
    kept = add.enqueue(98)
work()
assert add.get_result(kept.id).return_value == 98
print("transactions: ok")
