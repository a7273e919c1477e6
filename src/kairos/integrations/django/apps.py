"""The Django app; it brings the management command `kairos`."""

from __future__ import annotations

from django.apps import AppConfig


class KairosConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    name = "kairos.integrations.django"
    label = "kairos"
    verbose_name = "Kairos"
