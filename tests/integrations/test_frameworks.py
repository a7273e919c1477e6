"""Kairos in frameworks: each example is run as its page says."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

from kairos.errors import ConfigError
from kairos.integrations.django.database import url_of

EXAMPLES = ROOT / "examples" / "frameworks"
STORIES = {
    "fastapi_app": ["result -> True", "job -> success", "mounted -> 200", "without a key -> 401"],
    "flask_app": ["one job -> True False", "job -> pending", "unknown -> 404"],
    "sqlalchemy_app": ["result -> shipped 1", "rolled back -> True"],
    "opentelemetry_app": ["result -> sent", "steps -> ['pack: next', 'send: done']", "inside -> True"],
    "sentry_app": [
        "result -> charged 42",
        "event -> ConnectionError the bank is asleep {'kairos.action': 'charge_card', 'kairos.step': 'run'}",
    ],
}
MODULES = {"flask_app": "flask", "sentry_app": "sentry_sdk", "fastapi_app": "fastapi"}


def run(*command: object, database: str, cwd: Path) -> str:
    """Run a Python program on the test's database; return what it printed."""
    ended = subprocess.run(
        [sys.executable, *(str(each) for each in command)],
        cwd=cwd,
        env={**os.environ, "KAIROS_DATABASE_URL": database, "DATABASE_URL": database},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("name", STORIES)
def test_an_example_of_a_framework_runs_its_story(name: str, database: str, tmp_path: Path) -> None:
    pytest.importorskip(MODULES.get(name, "sys"))
    said = run(EXAMPLES / f"{name}.py", database=database, cwd=tmp_path)
    assert [line for line in said.splitlines() if " -> " in line] == STORIES[name]


def test_every_example_of_a_framework_has_a_story() -> None:
    assert sorted(STORIES) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


def test_the_tests_of_the_pytest_example_pass(database: str, tmp_path: Path) -> None:
    project = EXAMPLES / "pytest_project"
    options = (
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-o",
        "asyncio_mode=auto",
        "--rootdir",
        project,
    )
    said = run("-m", "pytest", *options, "-c", os.devnull, project, database=database, cwd=tmp_path)
    assert "3 passed" in said


def test_a_django_project_migrates_works_and_enqueues_with_its_own_rows(
    database: str, tmp_path: Path
) -> None:
    project = EXAMPLES / "django_project"
    run("manage.py", "migrate", "--run-syncdb", database=database, cwd=project)
    run("manage.py", "kairos", "migrate", database=database, cwd=project)
    worker = subprocess.Popen(
        [sys.executable, "manage.py", "kairos", "worker"],
        cwd=project,
        env={name: value for name, value in os.environ.items() if name != "KAIROS_DATABASE_URL"}
        | {"DATABASE_URL": database},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        said = run("story.py", database=database, cwd=project)
    finally:
        worker.terminate()
        assert worker.wait(60) == 0
    assert said.splitlines() == ["rolled back -> True", "result -> shipped a book", "shipped -> True"]


def test_the_django_tasks_backend_does_what_django_documents(database: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("django.tasks") is None:
        pytest.skip("django.tasks comes with Django 6, which needs Python 3.12")
    said = run(ROOT / "tests/integrations/django_tasks_contract.py", database=database, cwd=tmp_path)
    assert [line for line in said.splitlines() if line.endswith(": ok")] == [
        f"{part}: ok"
        for part in (
            *("results", "failures", "retries", "lookups"),
            *("async", "options", "refusals", "transactions"),
        )
    ]


def test_djangos_settings_of_a_database_are_a_url() -> None:
    postgres = {"ENGINE": "django.db.backends.postgresql", "NAME": "shop"}
    assert url_of(postgres) == "postgresql:///shop"
    whole = {**postgres, "USER": "a@b", "PASSWORD": "p/w", "HOST": "db", "PORT": 5433}
    assert url_of(whole) == "postgresql://a%40b:p%2Fw@db:5433/shop"
    options = {"sslmode": "require", "pool": True}
    assert url_of({**postgres, "OPTIONS": options}) == "postgresql:///shop?sslmode=require"
    socket = {**postgres, "HOST": "/run/postgresql", "PORT": "5433", "USER": "me"}
    assert url_of(socket) == "postgresql://me@/shop?host=%2Frun%2Fpostgresql&port=5433"
    with pytest.raises(ConfigError, match="Kairos needs PostgreSQL"):
        url_of({"ENGINE": "django.db.backends.sqlite3", "NAME": "x"})


def run_alone(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, without the settings of these tests."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("KAIROS_")},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("KAIROS_DATABSE", "Did you mean 'KAIROS_DATABASE'?"),
        ("KAIROS_DATABASE_URL", "Did you mean 'KAIROS_DATABASE'?"),
    ],
)
def test_a_setting_of_django_that_nobody_reads_is_refused(name: str, hint: str, tmp_path: Path) -> None:
    program = (
        "import django; from django.conf import settings;"
        f"settings.configure(INSTALLED_APPS=['kairos.integrations.django'], {name}='x'); django.setup()"
    )
    ended = run_alone(program, tmp_path)
    assert ended.returncode == 1
    assert f"Django's settings have {name}, which Kairos does not read there. {hint}" in ended.stderr


def test_a_worker_of_tasks_serves_their_queues_unless_it_is_told_others(tmp_path: Path) -> None:
    program = (
        "import os, django; from django.conf import settings;"
        "backend = 'kairos.integrations.django.tasks.KairosBackend';"
        "tasks = {'default': {'BACKEND': backend, 'QUEUES': ['mail', 'films']}, 'more': {'BACKEND': backend}};"
        "postgres = {'ENGINE': 'django.db.backends.postgresql', 'NAME': 'shop'};"
        "apps = ['kairos.integrations.django'];"
        "settings.configure(INSTALLED_APPS=apps, TASKS=tasks, DATABASES={'default': postgres});"
        "django.setup();"
        "from kairos.integrations.django.management.commands.kairos import prepare;"
        "from kairos.integrations.django.task_backends import queues_of_tasks;"
        "print(sorted(queues_of_tasks()), prepare(['worker', '--queues=mail']), os.environ['KAIROS_APP'])"
    )
    ended = run_alone(program, tmp_path)
    assert ended.stdout.strip() == (
        "['default', 'films', 'mail'] ['worker', '--queues=mail'] kairos.integrations.django.tasks:app"
    ), ended.stderr


def test_a_database_of_django_that_is_not_postgres_is_one_sentence(tmp_path: Path) -> None:
    program = (
        "import django; from django.conf import settings;"
        "lite = {'ENGINE': 'django.db.backends.sqlite3', 'NAME': 'x'};"
        "settings.configure(INSTALLED_APPS=['kairos.integrations.django'], DATABASES={'default': lite});"
        "django.setup(); from django.core.management import execute_from_command_line;"
        "execute_from_command_line(['manage.py', 'kairos', 'migrate'])"
    )
    ended = run_alone(program, tmp_path)
    assert (ended.returncode, ended.stderr) == (
        78,
        "kairos: DATABASES['default'] is django.db.backends.sqlite3: Kairos needs PostgreSQL.\n",
    )
