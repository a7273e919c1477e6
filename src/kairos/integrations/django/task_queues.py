"""The queues of `django.tasks`, as the project's settings name them."""

from __future__ import annotations


def queues_of_tasks() -> set[str]:
    """Return the QUEUES of the backends of Kairos in TASKS; none if there is no such backend."""
    from django.conf import settings

    return {
        queue
        for backend in getattr(settings, "TASKS", {}).values()
        if backend["BACKEND"].startswith("kairos.integrations.django")
        for queue in backend.get("QUEUES") or ["default"]
    }
