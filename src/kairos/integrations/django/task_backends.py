"""The backends of `django.tasks`, as the project's settings describe them."""

from __future__ import annotations

from importlib.util import find_spec


def queues_of_tasks() -> set[str]:
    """Return the QUEUES of the backends of Kairos in TASKS; none if there is no such backend."""
    from django.conf import settings

    return {
        queue
        for backend in getattr(settings, "TASKS", {}).values()
        if backend["BACKEND"].startswith("kairos.integrations.django")
        for queue in backend.get("QUEUES") or ["default"]
    }


def check_backends() -> None:
    """Make every backend in TASKS, which checks its options, so that a worker does not start on wrong ones."""
    if queues_of_tasks() and find_spec("django.tasks") is not None:
        from django.tasks import task_backends

        task_backends.all()
