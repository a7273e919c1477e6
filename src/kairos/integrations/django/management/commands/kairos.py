"""`manage.py kairos …`: the command line of Kairos, on the project's database and with the project set up."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand

from kairos.cli import run
from kairos.cli.errors import report
from kairos.errors import ConfigError, KairosError
from kairos.integrations.django.database import database_url
from kairos.integrations.django.task_backends import check_backends, queues_of_tasks

_TASKS = "kairos.integrations.django.tasks:app"


class Command(BaseCommand):  # type: ignore[misc]  # Django has no types
    help = "Run Kairos: manage.py kairos migrate, manage.py kairos worker, manage.py kairos jobs ls …"

    def run_from_argv(self, argv: list[str]) -> None:
        """Pass all arguments after the command's name to Kairos; a wrong setting is one sentence, as elsewhere."""
        try:
            arguments = prepare(argv[2:])
        except KairosError as error:
            sys.exit(report(error))
        except ImproperlyConfigured as error:
            sys.exit(report(ConfigError(str(error))))
        sys.exit(run(arguments))

    def handle(self, *arguments: str, **options: Any) -> None:
        """Run it from code: `call_command("kairos", "migrate")`."""
        if code := run(prepare(list(arguments))):
            raise SystemExit(code)

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("arguments", nargs="*")


def prepare(arguments: list[str]) -> list[str]:
    """Set the database and the app, unless the environment does."""
    os.environ.setdefault(
        "KAIROS_DATABASE_URL", database_url(getattr(settings, "KAIROS_DATABASE", "default"))
    )
    named = getattr(settings, "KAIROS_APP", None)
    if named or queues_of_tasks():
        os.environ.setdefault("KAIROS_APP", named or _TASKS)
    if arguments[:1] == ["worker"]:
        check_backends()
    return arguments
