"""The Django app; it brings the management command `kairos`."""

from __future__ import annotations

from django.apps import AppConfig

from kairos.integrations.django.database import check_settings


class KairosConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    name = "kairos.integrations.django"
    label = "kairos"
    verbose_name = "Kairos"

    def ready(self) -> None:
        check_settings()
